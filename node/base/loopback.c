#include "base/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static bool is_loopback_v4(struct in_addr address)
{
    return ntohl(address.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
}

bool loopback_address(const char *text)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, text, &v4) == 1)
        return is_loopback_v4(v4);
    return inet_pton(AF_INET6, text, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool loopback_peer(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return is_loopback_v4(((const struct sockaddr_in *)(const void *)address)->sin_addr);
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* The name or address at the start of `text`, without brackets; returns its length with them, 0 for none. */
static size_t read_host(const char *text, char host[INET6_ADDRSTRLEN])
{
    bool v6 = text[0] == '[';
    size_t length = v6 ? strcspn(text, "]") + 1 : strcspn(text, ":/");
    if (length - 2 * v6 >= INET6_ADDRSTRLEN || (v6 && text[length - 1] != ']'))
        return 0;
    snprintf(host, INET6_ADDRSTRLEN, "%.*s", (int)(length - 2 * v6), text + v6);
    bool good = loopback_address(host) ? v6 == (strchr(host, ':') != NULL)
                                       : !v6 && strcasecmp(host, "localhost") == 0;
    return good ? length : 0;
}

size_t loopback_host(const char *text, int64_t *port)
{
    char host[INET6_ADDRSTRLEN], digits[6];
    size_t length = read_host(text, host);
    *port = -1;
    if (length == 0 || text[length] != ':')
        return length;
    size_t count = strspn(text + length + 1, "0123456789");
    snprintf(digits, sizeof digits, "%.*s", count < sizeof digits ? (int)count : 0, text + length + 1);
    return text_to_integer(digits, 0, 65535, port) ? length + 1 + count : 0;
}
