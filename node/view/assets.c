#include "view/assets.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"

enum { DEPTH_MAX = 8, FILES_MAX = 1024, FILE_MAX_BYTES = 8 << 20 };

struct asset {
    char *name;       /* relative; owned */
    const char *type; /* static */
};

struct assets {
    char *folder;
    struct asset *list;
    size_t count;
};

/* A file of another kind is not served. */
static const char *type_of(const char *name)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".ico", "image/x-icon"},
        {".json", "application/json"},
        {".txt", "text/plain; charset=utf-8"},
        {".woff2", "font/woff2"},
    };
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t tail = strlen(types[i].ending);
        if (length > tail && strcmp(name + length - tail, types[i].ending) == 0)
            return types[i].type;
    }
    return NULL;
}

static void find_files(struct assets *assets, const char *below, int depth)
{
    CLEANUP_FREE char *path = below[0] ? file_join(assets->folder, below) : text_copy(assets->folder);
    CLEANUP_FOLDER DIR *dir = depth < DEPTH_MAX ? opendir(path) : NULL;
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        struct stat info;
        if (entry->d_name[0] == '.' || fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        CLEANUP_FREE char *name = text_format("%s%s%s", below, below[0] ? "/" : "", entry->d_name);
        if (S_ISDIR(info.st_mode)) {
            find_files(assets, name, depth + 1);
            continue;
        }
        const char *type = type_of(name);
        if (S_ISREG(info.st_mode) && type && assets->count < FILES_MAX)
            assets->list[assets->count++] = (struct asset){TAKE(name), type};
    }
}

struct assets *assets_open(const char *folder)
{
    struct assets *assets = memory_new(sizeof *assets);
    assets->list = memory_array(FILES_MAX, sizeof *assets->list);
    assets->folder = text_copy(folder);
    find_files(assets, "", 0);
    if (assets->count == 0)
        log_warning("view", "%s holds no page for the guest view; install the program whole", folder);
    return assets;
}

void assets_free(struct assets *assets)
{
    for (size_t i = 0; i < assets->count; i++)
        free(assets->list[i].name);
    free(assets->list);
    free(assets->folder);
    free(assets);
}

int assets_read(const struct assets *assets, const char *name, char **data, size_t *size, const char **type,
                struct error *err)
{
    for (size_t i = 0; i < assets->count; i++) {
        if (strcmp(assets->list[i].name, name) != 0)
            continue;
        CLEANUP_FREE char *path = file_join(assets->folder, name);
        *type = assets->list[i].type;
        return file_read(path, FILE_MAX_BYTES, data, size, err);
    }
    return error_set(err, ERROR_NOT_FOUND, "there is nothing at this path");
}
