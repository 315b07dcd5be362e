#include "base/user.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

enum { GROUPS_MAX = 1024 };

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

bool user_is(uid_t uid, const char *name)
{
    struct user user;
    return find_user(uid, &user) && strcmp(user.entry.pw_name, name) == 0;
}

uid_t user_find(const char *name)
{
    struct user user;
    struct passwd *found = NULL;
    return getpwnam_r(name, &user.entry, user.strings, sizeof user.strings, &found) == 0 && found
               ? user.entry.pw_uid
               : (uid_t)-1;
}

bool user_in_group(uid_t uid, const char *group)
{
    struct user user;
    struct group entry, *found = NULL;
    char strings[16384];
    gid_t gids[GROUPS_MAX];
    int count = GROUPS_MAX;
    if (!find_user(uid, &user) || getgrnam_r(group, &entry, strings, sizeof strings, &found) != 0 || !found ||
        getgrouplist(user.entry.pw_name, user.entry.pw_gid, gids, &count) < 0)
        return false;
    for (int i = 0; i < count; i++)
        if (gids[i] == entry.gr_gid)
            return true;
    return false;
}

bool user_exists(uid_t uid)
{
    struct user user;
    return find_user(uid, &user);
}

bool user_is_subordinate(const char *path, uid_t uid)
{
    enum { FILE_MAX = 4 << 20 };
    CLEANUP_FREE char *text = NULL;
    struct error ignored = ERROR_INIT;
    size_t size;
    if (file_read(path, FILE_MAX, &text, &size, &ignored) < 0)
        return false;
    char *rest = NULL;
    for (const char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        unsigned long first, count;
        const char *range = strchr(line, ':');
        if (range && sscanf(range, ":%lu:%lu", &first, &count) == 2 && uid >= first && uid - first < count)
            return true;
    }
    return false;
}
