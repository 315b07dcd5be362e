/* Random bytes from GnuTLS's generator, as bytes, hex and bounded numbers. */
#ifndef BERTHOS_BASE_RANDOM_H
#define BERTHOS_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Fills `size` bytes fit for keys. The process ends if the generator fails: nothing may go on with weak
 * bytes. */
void random_bytes(void *buffer, size_t size);

/* Writes 2 * bytes lower-case hex digits of random bytes, and a terminator. text: at least 2 * bytes + 1. */
void random_hex(char *text, size_t bytes);

/* A uniform number in 0..bound-1; bound is not 0. */
uint32_t random_below(uint32_t bound);

#endif
