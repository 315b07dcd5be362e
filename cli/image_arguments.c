#include "image_arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "command.h"
#include "config/config.h"
#include "config/home.h"

error_t image_arguments_parse(int key, char *arg, struct argp_state *state)
{
    struct image_arguments *arguments = state->input;
    char stem[256];
    switch (key) {
    case OPTION_DIR:
        if (!arg[0])
            argp_error(state, "--dir needs the name of a folder");
        arguments->dir = arg;
        return 0;
    case OPTION_JSON:
        arguments->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->name)
            argp_error(state, "\"%s\" is too much", arg);
        if (!image_stem(arg, stem, sizeof stem))
            argp_error(state, "\"%s\" is not the name of an image: it is as in berthos-linux-desktop:v1",
                       arg);
        arguments->name = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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
