/*
 * What loopback is, once for all who ask: the addresses 127.0.0.0/8 (RFC 1122 section 3.2.1.3) and ::1 (RFC
 * 4291 section 2.5.3), and of names localhost alone (RFC 6761 section 6.3). A name that somebody else's DNS
 * points at such an address is none.
 */
#ifndef BERTHOS_BASE_LOOPBACK_H
#define BERTHOS_BASE_LOOPBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Whether a text is such an address, written out whole; no name, no brackets. */
bool loopback_address(const char *text);

/* Whether a socket's address is. */
bool loopback_peer(const struct sockaddr *address);

/*
 * Reads HOST or HOST:PORT at the start of a text, as a URL and the Host header have it: HOST is localhost in
 * any case, an address of 127.0.0.0/8, or [::1]. Returns its length, 0 when the text begins with nothing of
 * the kind; what follows is the caller's to judge. *port: 0..65535, or -1 where there is none.
 */
size_t loopback_host(const char *text, int64_t *port);

#endif
