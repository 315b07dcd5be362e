#include "image_arguments.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "config/config.h"
#include "config/home.h"
#include "config/image_name.h"
#include "terminal.h"

static int read_name(const struct usage_row *row, const char *text, void *place, struct error *err)
{
    if (!image_name_valid(text))
        return error_set(err, ERROR_BAD_REQUEST,
                         "\"%s\" is not the name of an image: it is as in berthos-linux-desktop:v1", text);
    return usage_text(row, text, place, err);
}

const struct usage_row image_arguments_rows[] = {
    {"dir", "DIR", "The folder of the images (default: image_dir of node.toml)", usage_path, AT(image, dir)},
    {NULL, "NAME", NULL, read_name, AT(image, name)},
    {0},
};

static struct config *read_config(struct error *err)
{
    CLEANUP_FREE char *home = config_home();
    return config_load(home, err);
}

char *image_arguments_dir(const struct image_arguments *arguments, struct error *err)
{
    if (arguments->dir)
        return file_absolute(arguments->dir);
    CLEANUP_CONFIG struct config *config = read_config(err);
    return config ? TAKE(config->image_dir) : NULL;
}

struct image *image_arguments_open(const struct image_arguments *arguments, struct error *err)
{
    CLEANUP_CONFIG struct config *config = read_config(err);
    if (!config)
        return NULL;
    CLEANUP_FREE char *dir = arguments->dir ? file_absolute(arguments->dir) : text_copy(config->image_dir);
    const char *name = arguments->name ? arguments->name : config->image;
    struct image_options image = {
        .image_dir = dir,
        .name = name,
        .pinned_digest = strcmp(name, config->image) == 0 ? config->image_digest : NULL,
        .progress = terminal_progress,
    };
    struct image *opened = image_open(&image, NULL, err);
    terminal_update(NULL);
    return opened;
}
