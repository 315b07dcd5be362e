/*
 * Who is at the other end of a TCP connection of this host, by the kernel's word: loopback is an address, not
 * an identity. The kernel knows the uid that made the other socket (sock_diag(7), by the connection's four
 * numbers; /proc/net/tcp where that is closed to us). Behind a tunnel it is the account that runs its end
 * here. What the kernel does not say for certain is a stranger.
 */
#ifndef BERTHOS_BASE_PEER_H
#define BERTHOS_BASE_PEER_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

enum peer_kind {
    PEER_STRANGER, /* also where nothing is known */
    PEER_OPERATOR, /* may do what the node's own user may */
    PEER_REFUSED,  /* a guest's QEMU: nothing there has a reason to talk to the node */
};

struct peer {
    bool known;
    uid_t uid; /* where known */
    enum peer_kind kind;
};

/* Who counts as what. Users that are not there are (uid_t)-1. */
struct peer_policy {
    uid_t own;                 /* the node's; operator, whatever else it is */
    const char *group;         /* its members are operators; static, or NULL */
    uid_t qemu;                /* libvirt's user for QEMU; refused */
    uid_t guests_from, guests; /* the first of the guests' own uids, and how many; refused */
};

/*
 * The uid of the process whose socket is the other end of the connection from `theirs` to `ours`, both of one
 * family, AF_INET or AF_INET6. False when there is no such socket on this host, when nobody holds it any more
 * (the kernel says uid 0 of those), or when the kernel cannot be asked.
 */
bool peer_find(const struct sockaddr *theirs, const struct sockaddr *ours, uid_t *uid);

/* The policy of this process: its own uid, and the group where it runs as the user of that name. */
struct peer_policy peer_policy_own(const char *service);

/* Who such a peer is. known: what peer_find() said. policy: NULL makes everybody a stranger. */
struct peer peer_judge(const struct peer_policy *policy, bool known, uid_t uid);

#endif
