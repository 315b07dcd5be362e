#include "image/qcow2.h"

#include <inttypes.h>
#include <stdbool.h>

enum { HEADER_V2_BYTES = 72, HEADER_V3_BYTES = 104, HEADER_MAX_BYTES = 4096 };

#define MAGIC 0x514649fbu /* "QFI\xfb" */

/* Incompatible feature bits. */
#define INCOMPATIBLE_DIRTY       (UINT64_C(1) << 0)
#define INCOMPATIBLE_CORRUPT     (UINT64_C(1) << 1)
#define INCOMPATIBLE_DATA_FILE   (UINT64_C(1) << 2)
#define INCOMPATIBLE_COMPRESSION (UINT64_C(1) << 3)
#define INCOMPATIBLE_EXTENDED_L2 (UINT64_C(1) << 4)

/* Header extension types. */
#define EXTENSION_END        0u
#define EXTENSION_DATA_FILE  0x44415441u
#define EXTENSION_ENCRYPTION 0x0537be77u

static uint32_t read_be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t read_be64(const unsigned char *p)
{
    return (uint64_t)read_be32(p) << 32 | read_be32(p + 4);
}

static int check_features(uint64_t features, struct error *err)
{
    uint64_t known = INCOMPATIBLE_COMPRESSION | INCOMPATIBLE_EXTENDED_L2;
    if (features & INCOMPATIBLE_DATA_FILE)
        return error_set(err, ERROR_IMAGE, "its qcow2 header keeps the data in an external file");
    if (features & INCOMPATIBLE_DIRTY)
        return error_set(err, ERROR_IMAGE, "its qcow2 header says that it was not closed cleanly");
    if (features & INCOMPATIBLE_CORRUPT)
        return error_set(err, ERROR_IMAGE, "its qcow2 header says that it is corrupt");
    if (features & ~known)
        return error_set(err, ERROR_IMAGE,
                         "its qcow2 header has the unknown incompatible features 0x%" PRIx64,
                         features & ~known);
    return 0;
}

/* Walks the extensions from `at`: each is type, length, data padded to eight bytes; type 0 ends them. */
static int check_extensions(const unsigned char *data, size_t size, size_t at, struct error *err)
{
    for (;;) {
        if (size - at < 8)
            return error_set(err, ERROR_IMAGE, "its qcow2 header extensions do not end within %u bytes",
                             QCOW2_HEADER_BYTES);
        uint32_t type = read_be32(data + at), length = read_be32(data + at + 4);
        if (type == EXTENSION_END)
            return 0;
        if (type == EXTENSION_DATA_FILE)
            return error_set(err, ERROR_IMAGE, "its qcow2 header names an external data file");
        if (type == EXTENSION_ENCRYPTION)
            return error_set(err, ERROR_IMAGE, "its qcow2 header is that of an encrypted image");
        at += 8;
        if (length > size - at || (((uint64_t)length + 7) & ~UINT64_C(7)) > size - at)
            return error_set(err, ERROR_IMAGE, "its qcow2 header extensions do not end within %u bytes",
                             QCOW2_HEADER_BYTES);
        at += (length + 7) & ~(size_t)7;
    }
}

static int check_tables(const unsigned char *data, uint64_t file_bytes, struct error *err)
{
    uint32_t cluster_bits = read_be32(data + 20), l1_entries = read_be32(data + 36),
             refcount_clusters = read_be32(data + 56);
    uint64_t l1 = read_be64(data + 40), refcounts = read_be64(data + 48);
    if (cluster_bits < 9 || cluster_bits > 21)
        return error_set(err, ERROR_IMAGE, "its qcow2 header has the impossible cluster size 2^%u",
                         cluster_bits);
    bool good = l1 <= file_bytes && (uint64_t)l1_entries * 8 <= file_bytes - l1 && refcounts <= file_bytes &&
                ((uint64_t)refcount_clusters << cluster_bits) <= file_bytes - refcounts;
    return good ? 0
                : error_set(err, ERROR_IMAGE,
                            "its qcow2 tables lie outside the file: it is cut short or not a whole qcow2");
}

int qcow2_check(const unsigned char *data, size_t size, uint64_t file_bytes, uint64_t virtual_bytes,
                struct error *err)
{
    if (size < HEADER_V2_BYTES || read_be32(data) != MAGIC)
        return error_set(err, ERROR_IMAGE, "it is not a qcow2 file");
    uint32_t version = read_be32(data + 4);
    if (version != 2 && version != 3)
        return error_set(err, ERROR_IMAGE, "its qcow2 version is %u, known are 2 and 3", version);
    size_t header_bytes = HEADER_V2_BYTES;
    if (version == 3) {
        if (size < HEADER_V3_BYTES)
            return error_set(err, ERROR_IMAGE, "its qcow2 header is cut short");
        header_bytes = read_be32(data + 100);
        if (header_bytes < HEADER_V3_BYTES || header_bytes > HEADER_MAX_BYTES || header_bytes > size)
            return error_set(err, ERROR_IMAGE, "its qcow2 header has the impossible length %zu",
                             header_bytes);
    }
    if (read_be64(data + 8) != 0 || read_be32(data + 16) != 0)
        return error_set(err, ERROR_IMAGE, "its qcow2 header names a backing file");
    if (read_be32(data + 32) != 0)
        return error_set(err, ERROR_IMAGE, "its qcow2 header says that it is encrypted");
    if (read_be32(data + 60) != 0)
        return error_set(err, ERROR_IMAGE, "it holds %u internal snapshots", read_be32(data + 60));
    if (version == 3 && check_features(read_be64(data + 72), err) < 0)
        return -1;
    if (check_extensions(data, size, header_bytes, err) < 0 || check_tables(data, file_bytes, err) < 0)
        return -1;
    if (read_be64(data + 24) != virtual_bytes)
        return error_set(err, ERROR_IMAGE,
                         "its virtual size is %" PRIu64 " bytes, the manifest promises %" PRIu64,
                         read_be64(data + 24), virtual_bytes);
    return 0;
}
