#include "base/peer.h"

#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/user.h"

CLEANUP_DEFINE(table, FILE *, fclose);

enum { ANSWER_WAIT_S = 2 };

/* One end of a connection, in network byte order; an IPv4 address takes the first word alone. */
struct endpoint {
    sa_family_t family;
    uint32_t address[4];
    uint16_t port;
};

static bool read_endpoint(const struct sockaddr *address, struct endpoint *endpoint)
{
    *endpoint = (struct endpoint){.family = address->sa_family};
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;
        endpoint->address[0] = v4->sin_addr.s_addr;
        endpoint->port = v4->sin_port;
        return true;
    }
    if (address->sa_family != AF_INET6)
        return false;
    const struct sockaddr_in6 *v6 = (const void *)address;
    memcpy(endpoint->address, &v6->sin6_addr, sizeof endpoint->address);
    endpoint->port = v6->sin6_port;
    return true;
}

/*
 * Whether somebody holds a socket in this state. The kernel says uid 0 of a socket that nobody holds any more
 * (then it has no inode either), of one in TIME_WAIT and of one that is still being opened.
 */
static bool is_held(unsigned state, uint64_t inode)
{
    return inode != 0 && (state == TCP_ESTABLISHED || state == TCP_CLOSE_WAIT || state == TCP_FIN_WAIT1 ||
                          state == TCP_FIN_WAIT2);
}

/* --- sock_diag ------------------------------------------------------------------------------------- */

static bool send_question(int fd, const struct endpoint *theirs, const struct endpoint *ours)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 body;
    } question = {.header = {.nlmsg_len = sizeof question,
                             .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                             .nlmsg_flags = NLM_F_REQUEST},
                  .body = {.sdiag_family = (__u8)theirs->family,
                           .sdiag_protocol = IPPROTO_TCP,
                           .idiag_states = ~0U,
                           .id = {.idiag_sport = theirs->port,
                                  .idiag_dport = ours->port,
                                  .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
    memcpy(question.body.id.idiag_src, theirs->address, sizeof theirs->address);
    memcpy(question.body.id.idiag_dst, ours->address, sizeof ours->address);
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    return sendto(fd, &question, sizeof question, 0, (struct sockaddr *)&kernel, sizeof kernel) ==
           (ssize_t)sizeof question;
}

/* The answer to send_question(): one socket, or an error. */
static bool read_answer(int fd, const struct endpoint *theirs, const struct endpoint *ours, uid_t *uid)
{
    union {
        struct nlmsghdr header;
        char bytes[4096];
    } answer;
    ssize_t got = recv(fd, &answer, sizeof answer, 0);
    if (got < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) ||
        answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    const struct inet_diag_msg *found = NLMSG_DATA(&answer.header);
    if (found->id.idiag_sport != theirs->port || found->id.idiag_dport != ours->port ||
        !is_held(found->idiag_state, found->idiag_inode))
        return false;
    *uid = found->idiag_uid;
    return true;
}

/* -1: the kernel cannot be asked so; else whether it knows the socket. */
static int ask_kernel(const struct endpoint *theirs, const struct endpoint *ours, uid_t *uid)
{
    CLEANUP_CLOSE int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    struct timeval wait = {.tv_sec = ANSWER_WAIT_S};
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) < 0 ||
        !send_question(fd, theirs, ours))
        return -1;
    return read_answer(fd, theirs, ours, uid);
}

/* --- /proc/net/tcp --------------------------------------------------------------------------------- */

/* "0100007F:1F90", as the table has an end: words of the address in host order, the port. */
static void format_endpoint(const struct endpoint *endpoint, char text[48])
{
    int words = endpoint->family == AF_INET ? 1 : 4, length = 0;
    for (int i = 0; i < words; i++)
        length += snprintf(text + length, 48 - (size_t)length, "%08" PRIX32, endpoint->address[i]);
    snprintf(text + length, 48 - (size_t)length, ":%04X", ntohs(endpoint->port));
}

static bool find_line(const struct endpoint *theirs, const struct endpoint *ours, uid_t *uid)
{
    char line[512], from[48], to[48], line_from[48], line_to[48];
    format_endpoint(theirs, from);
    format_endpoint(ours, to);
    CLEANUP(cleanup_table)
    FILE *table = fopen(theirs->family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6", "re");
    while (table && fgets(line, sizeof line, table)) {
        unsigned state, owner;
        uint64_t inode;
        if (sscanf(line, " %*d: %47s %47s %x %*x:%*x %*x:%*x %*x %u %*u %" SCNu64, line_from, line_to, &state,
                   &owner, &inode) == 5 &&
            strcmp(line_from, from) == 0 && strcmp(line_to, to) == 0 && is_held(state, inode)) {
            *uid = owner;
            return true;
        }
    }
    return false;
}

/* --- public ---------------------------------------------------------------------------------------- */

bool peer_find(const struct sockaddr *theirs, const struct sockaddr *ours, uid_t *uid)
{
    struct endpoint from, to;
    if (!read_endpoint(theirs, &from) || !read_endpoint(ours, &to) || from.family != to.family)
        return false;
    int asked = ask_kernel(&from, &to, uid);
    return asked < 0 ? find_line(&from, &to, uid) : asked > 0;
}

struct peer_policy peer_policy_own(const char *service)
{
    return (struct peer_policy){
        .own = geteuid(), .group = user_is(geteuid(), service) ? service : NULL, .qemu = (uid_t)-1};
}

struct peer peer_judge(const struct peer_policy *policy, bool known, uid_t uid)
{
    struct peer peer = {.known = known, .uid = known ? uid : (uid_t)-1};
    if (!known || !policy)
        return peer;
    bool own = uid == 0 || uid == policy->own; /* also where QEMU runs as the node's own user */
    if (!own &&
        (uid == policy->qemu || (uid >= policy->guests_from && uid - policy->guests_from < policy->guests)))
        peer.kind = PEER_REFUSED;
    else if (own || (policy->group && user_in_group(uid, policy->group)))
        peer.kind = PEER_OPERATOR;
    return peer;
}
