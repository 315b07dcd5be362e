#include "web/guard.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static bool host_is_loopback(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        int64_t port;
        if (strncasecmp(host, names[i], length) != 0)
            continue;
        if (host[length] == '\0')
            return true;
        return host[length] == ':' && text_to_integer(host + length + 1, 0, 65535, &port);
    }
    return false;
}

int guard_check(const char *host, const char *origin, const char *fetch_site, struct error *err)
{
    if (!host || !host_is_loopback(host))
        return error_set(err, ERROR_FORBIDDEN,
                         "the Host header must name this machine's loopback (127.0.0.1, localhost or [::1])");
    if (origin && (!text_starts(origin, "http://") || strcasecmp(origin + strlen("http://"), host) != 0))
        return error_set(err, ERROR_FORBIDDEN, "a page of another origin may not use this node");
    if (fetch_site && strcmp(fetch_site, "same-origin") != 0 && strcmp(fetch_site, "none") != 0)
        return error_set(err, ERROR_FORBIDDEN, "a page of another site may not use this node");
    return 0;
}
