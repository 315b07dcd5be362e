/* The defence against pages of other sites and DNS rebinding. Private to web/. */
#ifndef BERTHOS_WEB_GUARD_H
#define BERTHOS_WEB_GUARD_H

#include "base/error.h"

/*
 * Whether a request may come in at all, by its headers (each may be NULL):
 * - Host must be exactly a loopback name (base/loopback.h), with any port or none: so wherever a node may
 *   listen it answers, a tunnel from another local port works, and a name that an attacker points at
 * 127.0.0.1 does not;
 * - an Origin must be http:// and exactly that Host;
 * - Sec-Fetch-Site must not say cross-site or same-site: another port of this host is another site to us.
 * 0, or -1 with ERROR_FORBIDDEN.
 */
int guard_check(const char *host, const char *origin, const char *fetch_site, struct error *err);

#endif
