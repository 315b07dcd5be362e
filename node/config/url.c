#include "config/url.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "config/config.h"

enum { URL_MAX = 128 };

static bool host_is_loopback(const char *host, size_t length)
{
    CLEANUP_FREE char *name = text_format("%.*s", (int)length, host);
    if (name[0] == '[' && name[length - 1] == ']') {
        name[length - 1] = '\0';
        return strchr(name, ':') && config_bind_is_loopback(name + 1);
    }
    return strcmp(name, "localhost") == 0 || (!strchr(name, ':') && config_bind_is_loopback(name));
}

/* The length of the host at the start of `text`, brackets included. */
static size_t host_length(const char *text)
{
    if (text[0] == '[') {
        const char *end = strchr(text, ']');
        return end ? (size_t)(end - text) + 1 : strlen(text);
    }
    return strcspn(text, ":/");
}

char *url_read(const char *text, struct error *err)
{
    static const char scheme[] = "http://";
    if (strlen(text) < URL_MAX && text_starts(text, scheme)) {
        const char *host = text + strlen(scheme);
        size_t length = host_length(host);
        const char *rest = host + length;
        CLEANUP_FREE char *port =
            text_format("%.*s", rest[0] == ':' ? (int)strcspn(rest + 1, "/") : 0, rest + 1);
        int64_t number;
        bool port_ok = rest[0] != ':' || text_to_integer(port, 1, 65535, &number);
        if (rest[0] == ':')
            rest += 1 + strlen(port);
        if (length && host_is_loopback(host, length) && port_ok && (!rest[0] || strcmp(rest, "/") == 0))
            return text_format("%.*s", (int)(rest - text), text);
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
