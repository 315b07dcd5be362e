/* Who a uid is, as the host's lists of users have it. */
#ifndef BERTHOS_BASE_USER_H
#define BERTHOS_BASE_USER_H

#include <stdbool.h>
#include <sys/types.h>

/* "alice", or "uid 1000" where the list has no name. Never NULL. *Owned*. */
char *user_name(uid_t uid);

/* "alice (uid 1000)", or "uid 1000". Never NULL. *Owned*. */
char *user_label(uid_t uid);

/* Whether the uid is that of the user with this name. */
bool user_is(uid_t uid, const char *name);

/* The uid of the user with this name; (uid_t)-1 when there is none. */
uid_t user_find(const char *name);

/* Whether the user is in a group, by its first one or as a member. */
bool user_in_group(uid_t uid, const char *group);

/* Whether the host's list of users has it. */
bool user_exists(uid_t uid);

/*
 * Whether it is among the subordinate uids that a user may map into a namespace of his own (subuid(5)). path:
 * "/etc/subuid".
 */
bool user_is_subordinate(const char *path, uid_t uid);

/* The home folder, absolute, or NULL. *Owned*. */
char *user_home(uid_t uid);

#endif
