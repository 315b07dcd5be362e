/* $BERTHOS_HOME, and which addresses are loopback. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "config/config.h"

static char *user_home(void)
{
    const char *home = getenv("HOME");
    if (home && home[0] == '/')
        return text_copy(home);
    char buffer[4096];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found && found->pw_dir[0] == '/')
        return text_copy(found->pw_dir);
    return text_copy("/");
}

static char *absolute(const char *path)
{
    if (path[0] == '/')
        return text_copy(path);
    CLEANUP_FREE char *here = getcwd(NULL, 0);
    return file_join(here ? here : "/", path);
}

char *config_home(void)
{
    const char *set = getenv("BERTHOS_HOME");
    CLEANUP_FREE char *base = set && set[0] ? NULL : user_home();
    char *home = base ? file_join(base, ".berthos") : absolute(set);
    size_t length = strlen(home);
    while (length > 1 && home[length - 1] == '/')
        home[--length] = '\0';
    return home;
}

static char *user_name(uid_t uid)
{
    char buffer[4096];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found)
        return text_copy(found->pw_name);
    return text_format("uid %u", (unsigned)uid);
}

int config_make_home(const char *home, struct error *err)
{
    if (file_make_folder(home, 0700, err) < 0)
        return -1;
    struct stat info;
    if (stat(home, &info) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot look at %s", home);
    /* root's is let through: what root prepared is not a stranger's, and writing to it fails by itself */
    if (info.st_uid != geteuid() && info.st_uid != 0) {
        CLEANUP_FREE char *owner = user_name(info.st_uid);
        CLEANUP_FREE char *self = user_name(geteuid());
        return error_set(
            err, ERROR_CONFIG,
            "%s belongs to %s, and this runs as %s: run it as %s, or set BERTHOS_HOME to a folder "
            "of your own",
            home, owner, self, owner);
    }
    if (info.st_mode & 077)
        return error_set(
            err, ERROR_CONFIG,
            "others may enter %s: its mode is %04o and must be 0700, for it holds keys and tokens; run: "
            "chmod 700 %s",
            home, (unsigned)(info.st_mode & 07777), home);
    return 0;
}

bool config_bind_is_loopback(const char *address)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, address, &v4) == 1)
        return ntohl(v4.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
    return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}
