/* What the image commands share: [--dir DIR] [NAME], and where images are. */
#ifndef BERTHOS_CLI_IMAGE_ARGUMENTS_H
#define BERTHOS_CLI_IMAGE_ARGUMENTS_H

#include "base/error.h"
#include "image/image.h"
#include "usage.h"

struct image_arguments {
    struct usage_common common; /* --json */
    const char *dir, *name;     /* NULL when not given */
};

/* --dir and NAME. A NAME that is none is wrong usage. */
extern const struct usage_row image_arguments_rows[];

/* The folder that is meant, absolute. *Owned*, or NULL with ERROR_CONFIG. */
char *image_arguments_dir(const struct image_arguments *arguments, struct error *err);

/*
 * Opens, and so verifies whole, the image that is meant: NAME, or what node.toml says. The digest that
 * node.toml pins counts for the image that it names.
 */
struct image *image_arguments_open(const struct image_arguments *arguments, struct error *err);

#endif
