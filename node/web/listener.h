/* The socket that a server listens on. */
#ifndef BERTHOS_WEB_LISTENER_H
#define BERTHOS_WEB_LISTENER_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"

/*
 * Listens on an address, written out, and a port (0: the kernel chooses). Two programs cannot listen there at
 * once; one that starts again can, at once. -1 with ERROR_INTERNAL.
 */
int listener_open(const char *bind, uint16_t port, struct error *err);

/* Where it listens. Returns the port. */
uint16_t listener_address(int listener, struct sockaddr_storage *address);

#endif
