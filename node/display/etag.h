/* Names of pictures: equal names are equal bytes. Private to display/. */
#ifndef BERTHOS_DISPLAY_ETAG_H
#define BERTHOS_DISPLAY_ETAG_H

#include <stdbool.h>

#include "display/picture.h"

/* A secret that keys the names, so that nobody who draws can make two pictures of one name. *Owned*: free().
 */
unsigned char *etag_secret(void);

/*
 * Names the picture that a plan makes of its pixels: a strong entity tag (RFC 9110 section 8.8.3)
 * with its quotes, the 128 bits of XXH3 over both.
 */
void etag_of(const unsigned char *secret, const struct pixels *pixels, const struct picture_plan *plan,
             char etag[PICTURE_ETAG_SIZE]);

/*
 * Whether an If-None-Match header (RFC 9110 section 13.1.2; NULL: none) names a picture: "*", or a list with
 * its tag. By the weak comparison that the section asks for: who put W/ before a tag of ours means our
 * picture.
 */
bool etag_matches(const char *header, const char *etag);

#endif
