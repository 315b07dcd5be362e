#include "config/url.h"

#include <stdint.h>
#include <string.h>

#include "base/loopback.h"
#include "base/text.h"

enum { URL_MAX = 128 };

char *url_read(const char *text, struct error *err)
{
    static const char scheme[] = "http://";
    if (strlen(text) < URL_MAX && text_starts(text, scheme)) {
        int64_t port;
        size_t length = strlen(scheme) + loopback_host(text + strlen(scheme), &port);
        if (length > strlen(scheme) && port != 0 && (!text[length] || strcmp(text + length, "/") == 0))
            return text_format("%.*s", (int)length, text);
    }
    error_set(err, ERROR_CONFIG,
              "\"%.64s\" is not the address of a node: it is http:// and a loopback address, as in "
              "http://127.0.0.1:7432 (reach a node elsewhere through an SSH tunnel)",
              text);
    return NULL;
}

char *url_make(const char *address, unsigned port)
{
    bool v6 = strchr(address, ':') != NULL;
    return text_format("http://%s%s%s:%u", v6 ? "[" : "", address, v6 ? "]" : "", port);
}
