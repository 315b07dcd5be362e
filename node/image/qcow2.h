/*
 * The header of a qcow2 file (QEMU's docs/interop/qcow2.txt): refuses whatever would make QEMU read anything
 * but this one file's clusters.
 */
#ifndef BERTHOS_IMAGE_QCOW2_H
#define BERTHOS_IMAGE_QCOW2_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* How much of the file's start is looked at: header and extensions must lie in it. */
#define QCOW2_HEADER_BYTES 65536u

/*
 * Checks the first `size` bytes of a file of file_bytes. Refused: another magic or version, a backing file,
 * an external data file, encryption, internal snapshots, an image left dirty or corrupt, an incompatible
 * feature that is not known, tables outside the file, another virtual size than virtual_bytes.
 * 0, or -1 with ERROR_IMAGE: a sentence without the file's name.
 */
int qcow2_check(const unsigned char *data, size_t size, uint64_t file_bytes, uint64_t virtual_bytes,
                struct error *err);

#endif
