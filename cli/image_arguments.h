/* What the image commands share: [--dir DIR] [--json] [NAME], and where images are. */
#ifndef BERTHOS_CLI_IMAGE_ARGUMENTS_H
#define BERTHOS_CLI_IMAGE_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "image/image.h"

struct image_arguments {
    const char *dir, *name; /* NULL when not given */
    bool json;
};

enum { OPTION_DIR = 0x180 };
#define HELP_DIR                                                                                             \
    {                                                                                                        \
        "dir", OPTION_DIR, "DIR", 0, "The folder of the images (default: image_dir of node.toml)", 0         \
    }

/* The parser. input: struct image_arguments. A NAME that is none is wrong usage. */
error_t image_arguments_parse(int key, char *arg, struct argp_state *state);

/* The folder that is meant, absolute. *Owned*, or NULL with ERROR_CONFIG. */
char *image_arguments_dir(const struct image_arguments *arguments, struct error *err);

/*
 * Opens, and so verifies whole, the image that is meant: NAME, or what node.toml says. The digest that
 * node.toml pins counts for the image that it names.
 */
struct image *image_arguments_open(const struct image_arguments *arguments, struct error *err);

#endif
