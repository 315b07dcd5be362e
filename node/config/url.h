/* The address of a node as its clients write it. */
#ifndef BERTHOS_CONFIG_URL_H
#define BERTHOS_CONFIG_URL_H

#include "base/error.h"

/*
 * Reads "http://HOST:PORT" where HOST is of 127.0.0.0/8, [::1] or localhost; the port may be missing (80), a
 * slash may follow. A node is never anywhere but on loopback (a remote one is reached through a tunnel), so
 * that a token never leaves the host in the clear. Returns the URL without the slash, *owned*, or NULL with
 * ERROR_CONFIG.
 */
char *url_read(const char *text, struct error *err);

/* "http://127.0.0.1:7432" from an address and a port; an IPv6 address gets its brackets. *Owned*. */
char *url_make(const char *address, unsigned port);

#endif
