#include "base/user.h"

#include <pwd.h>
#include <stdbool.h>

#include "base/text.h"

struct user {
    struct passwd entry;
    char strings[4096]; /* what the entry points into */
};

static bool find_user(uid_t uid, struct user *user)
{
    struct passwd *found = NULL;
    return getpwuid_r(uid, &user->entry, user->strings, sizeof user->strings, &found) == 0 && found;
}

char *user_name(uid_t uid)
{
    struct user user;
    return find_user(uid, &user) ? text_copy(user.entry.pw_name) : text_format("uid %u", (unsigned)uid);
}

char *user_label(uid_t uid)
{
    struct user user;
    return find_user(uid, &user) ? text_format("%s (uid %u)", user.entry.pw_name, (unsigned)uid)
                                 : text_format("uid %u", (unsigned)uid);
}

char *user_home(uid_t uid)
{
    struct user user;
    return find_user(uid, &user) && user.entry.pw_dir[0] == '/' ? text_copy(user.entry.pw_dir) : NULL;
}
