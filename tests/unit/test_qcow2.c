/* The header of a qcow2 file, field by field. */
#include "unit.h"

#include <string.h>

#include "image/qcow2.h"

#define FILE_BYTES    (1u << 20)
#define VIRTUAL_BYTES (64u << 20)

static void put32(unsigned char *at, uint32_t value)
{
    for (int i = 3; i >= 0; i--, value >>= 8)
        at[i] = (unsigned char)value;
}

static void put64(unsigned char *at, uint64_t value)
{
    put32(at, (uint32_t)(value >> 32));
    put32(at + 4, (uint32_t)value);
}

/* A plain version 3 header with no extensions, laid out as QEMU does. */
static void make_header(unsigned char header[QCOW2_HEADER_BYTES])
{
    memset(header, 0, QCOW2_HEADER_BYTES);
    put32(header, 0x514649fb);
    put32(header + 4, 3);
    put32(header + 20, 16);
    put64(header + 24, VIRTUAL_BYTES);
    put32(header + 36, 1);
    put64(header + 40, 3 * 65536);
    put64(header + 48, 65536);
    put32(header + 56, 1);
    put32(header + 96, 4);
    put32(header + 100, 112);
}

static void assert_header(const unsigned char *header, size_t size, const char *refusal)
{
    struct error err = ERROR_INIT;
    int result = qcow2_check(header, size, FILE_BYTES, VIRTUAL_BYTES, &err);
    if (!refusal) {
        if (result != 0)
            fail_msg("%s", err.text);
        return;
    }
    assert_int_equal(result, -1);
    assert_int_equal(err.code, ERROR_IMAGE);
    if (!strstr(err.text, refusal))
        fail_msg("\"%s\" does not hold \"%s\"", err.text, refusal);
}

static unsigned char header[QCOW2_HEADER_BYTES];

static void test_good(void **state)
{
    (void)state;
    make_header(header);
    assert_header(header, sizeof header, NULL);
    put32(header + 4, 2);
    memset(header + 72, 0, 40);
    assert_header(header, sizeof header, NULL);
    make_header(header);
    put64(header + 72, 1 << 3 | 1 << 4); /* zstd clusters and subclusters are only other ways to store */
    assert_header(header, sizeof header, NULL);
}

static void test_each_field(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        bool wide;
        uint64_t value;
        const char *refusal;
    } cases[] = {
        {0, false, 0x514649fa, "not a qcow2"},
        {4, false, 1, "version is 1"},
        {4, false, 4, "version is 4"},
        {8, true, 4096, "backing file"},
        {16, false, 10, "backing file"},
        {20, false, 8, "cluster size"},
        {20, false, 22, "cluster size"},
        {24, true, VIRTUAL_BYTES + 512, "virtual size"},
        {32, false, 1, "encrypted"},
        {32, false, 2, "encrypted"},
        {36, false, UINT32_MAX, "outside the file"},
        {40, true, UINT64_MAX, "outside the file"},
        {48, true, UINT64_MAX - 7, "outside the file"},
        {56, false, UINT32_MAX, "outside the file"},
        {60, false, 1, "1 internal snapshots"},
        {72, true, 1, "not closed cleanly"},
        {72, true, 2, "corrupt"},
        {72, true, 4, "external file"},
        {72, true, UINT64_C(1) << 63, "unknown incompatible"},
        {72, true, 32, "unknown incompatible"},
        {100, false, 0, "length"},
        {100, false, 103, "length"},
        {100, false, UINT32_MAX, "length"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_header(header);
        if (cases[i].wide)
            put64(header + cases[i].at, cases[i].value);
        else
            put32(header + cases[i].at, (uint32_t)cases[i].value);
        assert_header(header, sizeof header, cases[i].refusal);
    }
}

static void test_extensions(void **state)
{
    (void)state;
    make_header(header);
    put32(header + 112, 0x6803f857); /* the feature name table, with the padding it needs */
    put32(header + 116, 5);
    assert_header(header, sizeof header, NULL);
    put32(header + 112 + 16, 0x44415441);
    put32(header + 112 + 20, 4);
    assert_header(header, sizeof header, "external data file");
    put32(header + 112 + 16, 0x0537be77);
    assert_header(header, sizeof header, "encrypted");
    put32(header + 116, UINT32_MAX);
    assert_header(header, sizeof header, "do not end");
    put32(header + 116, UINT32_MAX - 6);
    assert_header(header, sizeof header, "do not end");
    put32(header + 116, QCOW2_HEADER_BYTES - 120);
    assert_header(header, sizeof header, "do not end");
}

static void test_short(void **state)
{
    (void)state;
    make_header(header);
    for (size_t size = 0; size < 120; size++)
        assert_header(header, size, size < 72 ? "not a qcow2" : size < 104 ? "cut short" : "");
    assert_header(header, 120, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_each_field),
        cmocka_unit_test(test_extensions),
        cmocka_unit_test(test_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
