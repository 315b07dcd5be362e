/* base/digest.h and base/random.h: SHA-256 against the vectors of FIPS 180-4, and bytes that differ. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/random.h"
#include "base/text.h"

#define SHA_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define SHA_ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define SHA_LONG  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
#define SHA_A1E6  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

static void known_vectors(void **state)
{
    (void)state;
    char hex[DIGEST_HEX_SIZE];
    digest_buffer("", 0, hex);
    assert_string_equal(hex, SHA_EMPTY);
    digest_buffer("abc", 3, hex);
    assert_string_equal(hex, SHA_ABC);
    static const char longer[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    digest_buffer(longer, sizeof longer - 1, hex);
    assert_string_equal(hex, SHA_LONG);
}

static void note(void *context, uint64_t done)
{
    uint64_t *last = context;
    assert_true(done > *last);
    *last = done;
}

/* More than one chunk, and from the start although the descriptor stands elsewhere. */
static void hashes_a_file_from_its_start(void **state)
{
    (void)state;
    enum { MILLION = 1000000 };
    CLEANUP_FCLOSE FILE *file = tmpfile();
    CLEANUP_FREE char *block = malloc(MILLION);
    char hex[DIGEST_HEX_SIZE], whole[DIGEST_HEX_SIZE];
    struct error err = ERROR_INIT;
    uint64_t done = 0;
    assert_non_null(file);
    memset(block, 'a', MILLION);
    assert_int_equal(fwrite(block, 1, MILLION, file), MILLION);
    fflush(file);
    assert_int_equal(digest_file(fileno(file), "a million", note, &done, hex, &err), 0);
    assert_string_equal(hex, SHA_A1E6);
    assert_int_equal(done, MILLION);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fwrite(block, 1, MILLION, file), MILLION);
    fflush(file);
    block = realloc(block, 3 * MILLION);
    memset(block, 'a', 3 * MILLION);
    digest_buffer(block, 3 * MILLION, whole);
    assert_int_equal(digest_file(fileno(file), "three", NULL, NULL, hex, &err), 0);
    assert_string_equal(hex, whole);
}

static void an_unreadable_file_is_an_error(void **state)
{
    (void)state;
    char hex[DIGEST_HEX_SIZE] = "untouched";
    struct error err = ERROR_INIT;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0); /* pread() is refused on a pipe */
    assert_int_equal(digest_file(pipes[0], "the pipe", NULL, NULL, hex, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_non_null(strstr(err.text, "the pipe"));
    close(pipes[0]);
    close(pipes[1]);
}

static void compares(void **state)
{
    (void)state;
    assert_true(digest_equal("abc", "abc", 3));
    assert_false(digest_equal("abc", "abd", 3));
    assert_false(digest_equal("\0a", "\0b", 2));
    assert_true(digest_valid(SHA_ABC));
    assert_false(digest_valid("ba7816bf"));
    assert_false(digest_valid("BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    assert_false(digest_valid(SHA_ABC "0"));
}

static void random_is_spread_and_bounded(void **state)
{
    (void)state;
    char a[65], b[65];
    random_hex(a, 32);
    random_hex(b, 32);
    assert_true(text_is_hex(a, 64));
    assert_string_not_equal(a, b);
    int seen[32] = {0};
    for (int i = 0; i < 32 * 200; i++) {
        uint32_t value = random_below(32);
        assert_true(value < 32);
        seen[value]++;
    }
    for (int i = 0; i < 32; i++) /* 200 expected each; 100 is seven deviations away */
        assert_in_range(seen[i], 100, 300);
    assert_int_equal(random_below(1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_vectors),
        cmocka_unit_test(hashes_a_file_from_its_start),
        cmocka_unit_test(an_unreadable_file_is_an_error),
        cmocka_unit_test(compares),
        cmocka_unit_test(random_is_spread_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
