/* Who a uid is, as the host's list of users has it. */
#ifndef BERTHOS_BASE_USER_H
#define BERTHOS_BASE_USER_H

#include <sys/types.h>

/* "alice", or "uid 1000" where the list has no name. Never NULL. *Owned*. */
char *user_name(uid_t uid);

/* "alice (uid 1000)", or "uid 1000". Never NULL. *Owned*. */
char *user_label(uid_t uid);

/* The home folder, absolute, or NULL. *Owned*. */
char *user_home(uid_t uid);

#endif
