/*
 * Whether a request has the one form that everybody reads alike. libmicrohttpd is lenient where RFC 9112 is
 * not: with two opinions about where a request ends, whatever stands between a client and the node can be
 * made to see other requests than the node does. Private to web/.
 */
#ifndef BERTHOS_WEB_REQUEST_FORM_H
#define BERTHOS_WEB_REQUEST_FORM_H

#include <microhttpd.h>

#include "base/error.h"

/*
 * Refuses a request target as it was sent, path and query: with controls, as they are or as %00 to %1F and
 * %7F. -1 with ERROR_BAD_REQUEST.
 */
int request_form_target(const char *target, struct error *err);

/*
 * Refuses a request whose head was just received: with two lengths, two codings or both, a name that is no
 * token (RFC 9110 section 5.6.2), controls in a value, a value over several lines, and lines that end in LF
 * alone. method, version: as libmicrohttpd gave them, where they lie; target_end: where the target ends, NULL
 * without one. -1 with ERROR_BAD_REQUEST.
 */
int request_form_head(struct MHD_Connection *connection, const char *method, const char *target_end,
                      const char *version, struct error *err);

#endif
