/*
 * HTTP on loopback (CONTRACT.md section 3). It has no logic of its own: routes decode, call lease/, pairing/
 * or doctor/, and encode.
 */
#ifndef BERTHOS_HTTP_HTTP_H
#define BERTHOS_HTTP_HTTP_H

#include <stdint.h>

#include "http/http_context.h"
#include "web/server.h"

/*
 * Starts to listen on context->bind and `port` (0: the kernel chooses); the context is borrowed for the life
 * of the server. NULL with ERROR_INTERNAL when the address cannot be had. *Owned*: web_server_stop().
 */
struct web_server *http_server_start(const struct http_context *context, uint16_t port, struct error *err);

#endif
