#include "web/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static int resolve_address(const char *bind, uint16_t port, struct sockaddr_storage *address, socklen_t *size,
                           struct error *err)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE, .ai_socktype = SOCK_STREAM}, *found;
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    int failed = getaddrinfo(bind, service, &hints, &found);
    if (failed)
        return error_set(err, ERROR_INTERNAL, "%s is no address: %s", bind, gai_strerror(failed));
    memcpy(address, found->ai_addr, found->ai_addrlen);
    *size = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

/*
 * Where the host's congestion control is BBR, a timer is set for every few segments, which on loopback costs
 * more than carrying the bytes does. There is no path here whose width would have to be found out. Reno is in
 * every kernel and open to everybody, and does not pace. It must be the listener's before a connection is
 * made: once paced, a connection stays so. Where it cannot be had, all still works.
 */
static void stop_pacing(int fd)
{
    static const char unpaced[] = "reno";
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, unpaced, sizeof unpaced - 1);
}

int listener_open(const char *bind_text, uint16_t port, struct error *err)
{
    struct sockaddr_storage address = {0};
    socklen_t size;
    const int yes = 1;
    if (resolve_address(bind_text, port, &address, &size, err) < 0)
        return -1;
    CLEANUP_CLOSE int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* SO_REUSEADDR binds beside connections that wait out their end. SO_REUSEPORT would share the port. */
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (fd >= 0)
        stop_pacing(fd);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, SOMAXCONN) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno,
                               "cannot listen on %s port %u (is another node running there?)", bind_text,
                               port);
    return TAKE_FD(fd);
}

uint16_t listener_address(int listener, struct sockaddr_storage *address)
{
    socklen_t size = sizeof *address;
    *address = (struct sockaddr_storage){0};
    getsockname(listener, (struct sockaddr *)address, &size);
    return ntohs(address->ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)address)->sin6_port
                                                : ((struct sockaddr_in *)(void *)address)->sin_port);
}
