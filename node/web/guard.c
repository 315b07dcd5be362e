#include "web/guard.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/loopback.h"
#include "base/text.h"

/* Nothing but a loopback name and a port or none. */
static bool host_is_loopback(const char *host)
{
    int64_t port;
    size_t length = loopback_host(host, &port);
    return length > 0 && !host[length];
}

int guard_check(const char *host, const char *origin, const char *fetch_site, struct error *err)
{
    if (!host || !host_is_loopback(host))
        return error_set(
            err, ERROR_FORBIDDEN,
            "the Host header must name this machine's loopback (127.0.0.0/8, localhost or [::1])");
    if (origin && (!text_starts(origin, "http://") || strcasecmp(origin + strlen("http://"), host) != 0))
        return error_set(err, ERROR_FORBIDDEN, "a page of another origin may not use this node");
    if (fetch_site && strcmp(fetch_site, "same-origin") != 0 && strcmp(fetch_site, "none") != 0)
        return error_set(err, ERROR_FORBIDDEN, "a page of another site may not use this node");
    return 0;
}
