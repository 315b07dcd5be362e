#include "config/home.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "base/user.h"

static char *default_home(void)
{
    const char *home = getenv("HOME");
    CLEANUP_FREE char *listed = home && home[0] == '/' ? text_copy(home) : user_home(geteuid());
    return file_join(listed ? listed : "/", ".berthos");
}

char *config_home(void)
{
    const char *set = getenv("BERTHOS_HOME");
    char *home = set && set[0] ? file_absolute(set) : default_home();
    size_t length = strlen(home);
    while (length > 1 && home[length - 1] == '/')
        home[--length] = '\0';
    return home;
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
        return error_set(err, ERROR_CONFIG,
                         "%s belongs to %s, and this runs as %s: run it as %s, or set BERTHOS_HOME to a "
                         "folder of your own",
                         home, owner, self, owner);
    }
    if (info.st_mode & 077)
        return error_set(err, ERROR_CONFIG,
                         "others may enter %s: its mode is %04o and must be 0700, for it holds keys and "
                         "tokens; run: chmod 700 %s",
                         home, (unsigned)(info.st_mode & 07777), home);
    return 0;
}
