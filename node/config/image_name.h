/* The name of an image, "berthos-linux-desktop:v1": its grammar, and the stem of its files. */
#ifndef BERTHOS_CONFIG_IMAGE_NAME_H
#define BERTHOS_CONFIG_IMAGE_NAME_H

#include <stdbool.h>

#define IMAGE_STEM_SIZE 98 /* a name of 64 characters, '-', a version of 32, terminator */

/* "berthos-linux-desktop:v1" -> "berthos-linux-desktop-v1". False when the name is not
 * [a-z0-9][a-z0-9.-]*:[a-z0-9.]+ of at most 64 and 32 characters. */
bool image_name_stem(const char *name, char stem[IMAGE_STEM_SIZE]);

/* Whether it is a name. */
bool image_name_valid(const char *name);

#endif
