/* Pairing: codes, tokens, what is on disk, and how guessing is slowed. */
#include "unit.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "pairing/pairing.h"
#include "tests/unit/home_fixture.h"

static struct pairing *open_pairing(void)
{
    struct error err = ERROR_INIT;
    struct pairing *pairing = pairing_open(home, &err);
    assert_non_null(pairing);
    return pairing;
}

static void a_code_gives_one_token(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE], next[PAIRING_CODE_SIZE], token[PAIRING_TOKEN_SIZE];
    struct pairing_grant grant;
    struct pairing *pairing = open_pairing();
    pairing_code(pairing, code);
    assert_int_equal(strlen(code), 9);
    assert_int_equal(code[4], '-');
    assert_int_equal(strspn(code, "ABCDEFGHJKLMNPQRSTUVWXYZ23456789-"), 9);
    assert_int_equal(pairing_pair(pairing, code, CAPABILITY_LEASE, token, &err), 0);
    assert_true(text_is_hex(token, 64));
    assert_true(pairing_check(pairing, token, &grant));
    assert_int_equal(grant.capabilities, CAPABILITY_LEASE);
    pairing_code(pairing, next);
    assert_string_not_equal(code, next);
    assert_int_equal(pairing_pair(pairing, code, CAPABILITY_LEASE, token, &err), -1);
    assert_int_equal(err.code, ERROR_WRONG_CODE);
    pairing_close(pairing);
}

static void case_and_dash_do_not_matter(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE], token[PAIRING_TOKEN_SIZE];
    struct pairing *pairing = open_pairing();
    pairing_code(pairing, code);
    CLEANUP_FREE char *written = text_format("%.2s-%.2s%.4s-", code, code + 2, code + 5);
    for (char *c = written; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
    assert_int_equal(pairing_pair(pairing, written, CAPABILITY_LEASE, token, &err), 0);
    pairing_close(pairing);
}

static void tokens_survive_and_are_not_on_disk(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE], token[PAIRING_TOKEN_SIZE];
    struct pairing_grant grant;
    struct stat info;
    CLEANUP_FREE char *path = file_join(home, "pairings.json");
    CLEANUP_FREE char *text = NULL;
    struct pairing *pairing = open_pairing();
    pairing_code(pairing, code);
    assert_int_equal(pairing_pair(pairing, code, CAPABILITY_OPERATOR | CAPABILITY_LEASE, token, &err), 0);
    pairing_close(pairing);

    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(file_read(path, 1 << 20, &text, NULL, &err), 0);
    assert_null(strstr(text, token));

    pairing = open_pairing();
    assert_true(pairing_check(pairing, token, &grant));
    assert_int_equal(grant.capabilities, CAPABILITY_OPERATOR | CAPABILITY_LEASE);
    pairing_close(pairing);
}

static void what_is_no_token(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE], token[PAIRING_TOKEN_SIZE];
    struct pairing_grant grant;
    struct pairing *pairing = open_pairing();
    pairing_code(pairing, code);
    assert_int_equal(pairing_pair(pairing, code, CAPABILITY_LEASE, token, &err), 0);
    assert_false(pairing_check(pairing, "", &grant));
    token[63] = token[63] == '0' ? '1' : '0';
    assert_false(pairing_check(pairing, token, &grant));
    token[63] = '\0'; /* cut short */
    assert_false(pairing_check(pairing, token, &grant));
    pairing_close(pairing);
}

static void guessing_is_slowed(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE], later[PAIRING_CODE_SIZE], token[PAIRING_TOKEN_SIZE];
    struct pairing *pairing = open_pairing();
    pairing_code(pairing, code);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(pairing_pair(pairing, "AAAA-AAAA", CAPABILITY_LEASE, token, &err), -1);
        assert_int_equal(err.code, ERROR_WRONG_CODE);
    }
    assert_int_equal(pairing_pair(pairing, code, CAPABILITY_LEASE, token, &err), -1);
    assert_int_equal(err.code, ERROR_SLOW_DOWN);
    pairing_code(pairing, later);
    assert_string_not_equal(code, later);
    pairing_close(pairing);
}

/* A new pairing, and the grant of its token. */
static struct pairing_grant pair_once(struct pairing *pairing, char token[PAIRING_TOKEN_SIZE])
{
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE];
    struct pairing_grant grant = {0};
    pairing_code(pairing, code);
    assert_int_equal(pairing_pair(pairing, code, CAPABILITY_LEASE, token, &err), 0);
    assert_true(pairing_check(pairing, token, &grant));
    return grant;
}

static void a_revoked_token_is_unknown(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char first[PAIRING_TOKEN_SIZE], second[PAIRING_TOKEN_SIZE];
    struct pairing *pairing = open_pairing();
    struct pairing_grant one = pair_once(pairing, first), other = pair_once(pairing, second), revoked, grant;
    CLEANUP_FREE struct pairing_entry *entries;
    assert_int_equal(pairing_list(pairing, &entries), 2);
    assert_string_equal(entries[0].grant.id, one.id);

    CLEANUP_FREE char *prefix = text_format("%.12s", one.id);
    CLEANUP_FREE char *shorter = text_format("%.7s", one.id);
    assert_int_equal(pairing_revoke(pairing, shorter, &revoked, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    assert_int_equal(pairing_revoke(pairing, "no-digits", &revoked, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    assert_int_equal(pairing_revoke(pairing, prefix, &revoked, &err), 0);
    assert_string_equal(revoked.id, one.id);
    assert_false(pairing_check(pairing, first, &grant));
    assert_true(pairing_check(pairing, second, &grant));
    assert_string_equal(grant.id, other.id);
    assert_int_equal(pairing_revoke(pairing, prefix, &revoked, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    pairing_close(pairing);

    pairing = open_pairing();
    assert_false(pairing_check(pairing, first, &grant));
    assert_true(pairing_check(pairing, second, &grant));
    pairing_close(pairing);
}

static void a_broken_file_is_set_aside(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *path = file_join(home, "pairings.json");
    struct stat info;
    assert_int_equal(file_write_atomic(path, 0600, "{\"pairings\": [", 14, &err), 0);
    struct pairing *pairing = open_pairing();
    assert_int_equal(stat(path, &info), -1);
    pairing_close(pairing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_code_gives_one_token, make_home, remove_home),
        cmocka_unit_test_setup_teardown(case_and_dash_do_not_matter, make_home, remove_home),
        cmocka_unit_test_setup_teardown(tokens_survive_and_are_not_on_disk, make_home, remove_home),
        cmocka_unit_test_setup_teardown(what_is_no_token, make_home, remove_home),
        cmocka_unit_test_setup_teardown(guessing_is_slowed, make_home, remove_home),
        cmocka_unit_test_setup_teardown(a_revoked_token_is_unknown, make_home, remove_home),
        cmocka_unit_test_setup_teardown(a_broken_file_is_set_aside, make_home, remove_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
