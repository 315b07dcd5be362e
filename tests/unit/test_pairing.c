/* Pairing: codes, invites, tokens, what is on disk, and how guessing is slowed. */
#include "unit.h"

#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
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

static const struct peer root = {true, 0, PEER_OPERATOR}, stranger = {true, 65534, PEER_STRANGER};

/* Pairs as a stranger, who may do so with a code; the token is in *paired. */
static int pair(struct pairing *pairing, const char *code, unsigned capabilities,
                struct pairing_paired *paired, struct error *err)
{
    return pairing_pair(pairing, &stranger, code, capabilities, paired, err);
}

static void a_code_gives_one_token(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE], next[PAIRING_CODE_SIZE];
    struct pairing_paired paired;
    struct pairing_grant grant;
    struct pairing *pairing = open_pairing();
    pairing_code(pairing, code);
    assert_int_equal(strlen(code), 9);
    assert_int_equal(code[4], '-');
    assert_int_equal(strspn(code, "ABCDEFGHJKLMNPQRSTUVWXYZ23456789-"), 9);
    assert_int_equal(pair(pairing, code, CAPABILITY_LEASE, &paired, &err), 0);
    assert_true(text_is_hex(paired.token, 64));
    assert_int_equal(paired.grant.capabilities, CAPABILITY_LEASE);
    assert_string_equal(paired.invite, "");
    assert_true(pairing_check(pairing, paired.token, &grant));
    assert_memory_equal(&grant, &paired.grant, sizeof grant);
    pairing_code(pairing, next);
    assert_string_not_equal(code, next);
    assert_int_equal(pair(pairing, code, CAPABILITY_LEASE, &paired, &err), -1);
    assert_int_equal(err.code, ERROR_WRONG_CODE);
    pairing_close(pairing);
}

static void the_nodes_code_gives_everything(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE];
    struct pairing_paired paired;
    struct pairing *pairing = open_pairing();
    pairing_code(pairing, code);
    assert_int_equal(pair(pairing, code, 0, &paired, &err), 0);
    assert_int_equal(paired.grant.capabilities, CAPABILITY_ALL);
    assert_int_equal(paired.grant.leases_max, 0);
    assert_int_equal(paired.grant.max_seconds, 0);
    pairing_close(pairing);
}

static void case_and_dash_do_not_matter(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE];
    struct pairing_paired paired;
    struct pairing *pairing = open_pairing();
    pairing_code(pairing, code);
    CLEANUP_FREE char *written = text_format("%.2s-%.2s%.4s-", code, code + 2, code + 5);
    for (char *c = written; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
    assert_int_equal(pair(pairing, written, CAPABILITY_LEASE, &paired, &err), 0);
    pairing_close(pairing);
}

/* pairings.json as it stands. *Owned*. */
static char *read_pairings(void)
{
    struct error err = ERROR_INIT;
    char *text = NULL;
    CLEANUP_FREE char *path = file_join(home, "pairings.json");
    assert_int_equal(file_read(path, 1 << 20, &text, NULL, &err), 0);
    return text;
}

static void tokens_survive_and_are_not_on_disk(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE];
    struct pairing_paired paired;
    struct pairing_grant grant;
    struct stat info;
    CLEANUP_FREE char *path = file_join(home, "pairings.json");
    struct pairing *pairing = open_pairing();
    pairing_code(pairing, code);
    assert_int_equal(pair(pairing, code, 0, &paired, &err), 0);
    pairing_close(pairing);

    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    CLEANUP_FREE char *text = read_pairings();
    assert_null(strstr(text, paired.token));

    pairing = open_pairing();
    assert_true(pairing_check(pairing, paired.token, &grant));
    assert_int_equal(grant.capabilities, CAPABILITY_ALL);
    pairing_close(pairing);
}

static void what_is_no_token(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE];
    struct pairing_paired paired;
    struct pairing_grant grant;
    struct pairing *pairing = open_pairing();
    pairing_code(pairing, code);
    assert_int_equal(pair(pairing, code, CAPABILITY_LEASE, &paired, &err), 0);
    assert_false(pairing_check(pairing, "", &grant));
    paired.token[63] = paired.token[63] == '0' ? '1' : '0';
    assert_false(pairing_check(pairing, paired.token, &grant));
    paired.token[63] = '\0'; /* cut short */
    assert_false(pairing_check(pairing, paired.token, &grant));
    pairing_close(pairing);
}

/* --- guessing -------------------------------------------------------------------------------------- */

/* How many wrong codes a peer may try now. */
static int guess(struct pairing *pairing, const struct peer *peer)
{
    struct pairing_paired paired;
    for (int tries = 0;; tries++) {
        struct error err = ERROR_INIT;
        assert_int_equal(pairing_pair(pairing, peer, "AAAA-AAAA", 0, &paired, &err), -1);
        if (err.code == ERROR_SLOW_DOWN)
            return tries;
        assert_int_equal(err.code, ERROR_WRONG_CODE);
    }
}

static void guessing_is_slowed(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE];
    struct pairing_paired paired;
    struct pairing *pairing = open_pairing();
    pairing_code(pairing, code);
    assert_int_equal(guess(pairing, &stranger), 5);
    assert_int_equal(pair(pairing, code, 0, &paired, &err), -1);
    assert_int_equal(err.code, ERROR_SLOW_DOWN);
    pairing_close(pairing);
}

static void who_guesses_is_in_nobodys_way(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE], later[PAIRING_CODE_SIZE];
    struct pairing_paired paired;
    struct peer other = {true, 1000, PEER_STRANGER};
    struct pairing *pairing = open_pairing();
    pairing_code(pairing, code);
    assert_int_equal(guess(pairing, &stranger), 5);
    pairing_code(pairing, later);
    assert_string_equal(code, later); /* whoever read it can use it */
    assert_int_equal(pairing_pair(pairing, &other, code, CAPABILITY_LEASE, &paired, &err), 0);
    pairing_code(pairing, code);
    assert_int_equal(pairing_pair(pairing, &root, code, 0, &paired, &err), 0);
    assert_int_equal(guess(pairing, &other), 5);
    assert_int_equal(guess(pairing, &root), 5);
    pairing_close(pairing);
}

/* A subuid range is 65536 users: they share what there is, and take nothing from an operator. */
static void many_users_guess_no_faster(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE];
    struct pairing_paired paired;
    struct peer unknown = {0};
    struct pairing *pairing = open_pairing();
    int tries = guess(pairing, &unknown);
    assert_int_equal(tries, 5);
    for (uid_t uid = 100000; uid < 100200; uid++)
        tries += guess(pairing, &(struct peer){true, uid, PEER_STRANGER});
    assert_in_range(tries, 17 * 5, 17 * 5 + 4); /* some earn one more meanwhile, on a slow machine */
    pairing_code(pairing, code);
    assert_int_equal(pairing_pair(pairing, &root, code, 0, &paired, &err), 0);
    pairing_close(pairing);
}

/* --- invites --------------------------------------------------------------------------------------- */

static const char maker[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
static const struct pairing_grant lease_alone = {.capabilities = CAPABILITY_LEASE};

static void an_invite_gives_what_its_maker_said(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE], own[PAIRING_CODE_SIZE], later[PAIRING_CODE_SIZE];
    struct pairing_grant gives = {.capabilities = CAPABILITY_LEASE, .leases_max = 2, .max_seconds = 600},
                         grant;
    struct pairing_invite invite, list[PAIRING_INVITES_MAX];
    struct pairing_paired paired;
    struct pairing *pairing = open_pairing();
    pairing_code(pairing, own);
    assert_int_equal(pairing_invite(pairing, &gives, maker, 600, &invite, code, &err), 0);
    assert_int_equal(strspn(code, "ABCDEFGHJKLMNPQRSTUVWXYZ23456789-"), 9);
    assert_int_equal(pairing_invites(pairing, list), 1);
    assert_string_equal(list[0].id, invite.id);
    assert_string_equal(list[0].maker, maker);
    /* more than it gives is refused, and the code stays good */
    for (unsigned asked = CAPABILITY_OPERATOR; asked <= CAPABILITY_ALL; asked += CAPABILITY_LEASE) {
        assert_int_equal(pair(pairing, code, asked, &paired, &err), -1);
        assert_int_equal(err.code, ERROR_FORBIDDEN);
    }
    assert_int_equal(pair(pairing, code, 0, &paired, &err), 0);
    assert_string_equal(paired.invite, invite.id);
    assert_int_equal(pair(pairing, code, 0, &paired, &err), -1); /* once */
    assert_int_equal(err.code, ERROR_WRONG_CODE);
    assert_int_equal(pairing_invites(pairing, list), 0);
    pairing_code(pairing, later);
    assert_string_equal(own, later);
    pairing_close(pairing);

    pairing = open_pairing(); /* its limits are the token's for good */
    assert_true(pairing_check(pairing, paired.token, &grant));
    assert_int_equal(grant.capabilities, CAPABILITY_LEASE);
    assert_int_equal(grant.leases_max, 2);
    assert_int_equal(grant.max_seconds, 600);
    pairing_close(pairing);
}

static void an_operators_invite_has_no_limits(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE];
    struct pairing_grant gives = {.capabilities = CAPABILITY_ALL, .leases_max = 1};
    struct pairing_invite invite;
    struct pairing_paired paired;
    struct pairing *pairing = open_pairing();
    assert_int_equal(pairing_invite(pairing, &gives, maker, 600, &invite, code, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    gives.leases_max = 0;
    assert_int_equal(pairing_invite(pairing, &gives, maker, 600, &invite, code, &err), 0);
    assert_int_equal(pair(pairing, code, CAPABILITY_OPERATOR, &paired, &err), 0);
    assert_int_equal(paired.grant.capabilities, CAPABILITY_OPERATOR);
    pairing_close(pairing);
}

static void an_invite_ends(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE];
    struct pairing_invite invite, list[PAIRING_INVITES_MAX];
    struct pairing_paired paired;
    struct pairing *pairing = open_pairing();
    assert_int_equal(pairing_invite(pairing, &lease_alone, maker, 0, &invite, code, &err),
                     0); /* by its time */
    assert_int_equal(pair(pairing, code, 0, &paired, &err), -1);
    assert_int_equal(err.code, ERROR_WRONG_CODE);

    assert_int_equal(pairing_invite(pairing, &lease_alone, maker, 600, &invite, code, &err), 0);
    assert_int_equal(pairing_uninvite(pairing, "000000000000", &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(pairing_uninvite(pairing, invite.id, &err), 0); /* taken back */
    assert_int_equal(pair(pairing, code, 0, &paired, &err), -1);
    assert_int_equal(err.code, ERROR_WRONG_CODE);

    for (size_t i = 0; i < PAIRING_INVITES_MAX; i++)
        assert_int_equal(pairing_invite(pairing, &lease_alone, maker, 600, &invite, code, &err), 0);
    assert_int_equal(pairing_invite(pairing, &lease_alone, maker, 600, &invite, code, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_MANY);
    assert_non_null(strstr(err.text, "berth uninvite"));
    assert_int_equal(pairing_invites(pairing, list), PAIRING_INVITES_MAX);
    pairing_close(pairing);
}

/* --- pairings -------------------------------------------------------------------------------------- */

/* A new pairing. */
static struct pairing_paired pair_once(struct pairing *pairing)
{
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE];
    struct pairing_paired paired = {0};
    pairing_code(pairing, code);
    assert_int_equal(pair(pairing, code, CAPABILITY_LEASE, &paired, &err), 0);
    return paired;
}

static void a_revoked_token_is_unknown(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE];
    struct pairing *pairing = open_pairing();
    struct pairing_paired one = pair_once(pairing), other = pair_once(pairing), third;
    struct pairing_grant revoked, grant;
    struct pairing_invite invite;
    CLEANUP_FREE struct pairing_entry *entries;
    assert_int_equal(pairing_list(pairing, &entries), 2);
    assert_string_equal(entries[0].grant.id, one.grant.id);
    assert_int_equal(pairing_invite(pairing, &lease_alone, one.grant.id, 600, &invite, code, &err), 0);

    CLEANUP_FREE char *prefix = text_format("%.12s", one.grant.id);
    CLEANUP_FREE char *shorter = text_format("%.7s", one.grant.id);
    assert_int_equal(pairing_revoke(pairing, shorter, &revoked, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    assert_int_equal(pairing_revoke(pairing, "no-digits", &revoked, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    assert_int_equal(pairing_revoke(pairing, prefix, &revoked, &err), 0);
    assert_string_equal(revoked.id, one.grant.id);
    assert_false(pairing_check(pairing, one.token, &grant));
    assert_true(pairing_check(pairing, other.token, &grant));
    assert_string_equal(grant.id, other.grant.id);
    assert_int_equal(pairing_revoke(pairing, prefix, &revoked, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(pair(pairing, code, 0, &third, &err), -1); /* nor does its invite work any more */
    assert_int_equal(err.code, ERROR_WRONG_CODE);
    pairing_close(pairing);

    pairing = open_pairing();
    assert_false(pairing_check(pairing, one.token, &grant));
    assert_true(pairing_check(pairing, other.token, &grant));
    pairing_close(pairing);
}

/* Writes pairings.json: `count` pairings of this age, with what else is to stand in each. */
static void write_pairings(int count, int64_t age_ms, const char *more)
{
    struct error err = ERROR_INIT;
    char created[CLOCK_TEXT_SIZE];
    CLEANUP_TEXT struct text_buffer text = {0};
    CLEANUP_FREE char *path = file_join(home, "pairings.json");
    clock_format(clock_realtime_ms() - age_ms, created);
    text_append(&text, "{\"pairings\": [");
    for (int i = 0; i < count; i++)
        text_append(&text,
                    "%s{\"sha256\": \"%064x\", \"capabilities\": [\"lease\"], \"created_at\": \"%s\"%s}",
                    i ? ", " : "", i, created, more);
    text_append(&text, "]}");
    assert_int_equal(file_write_atomic(path, 0600, text.text, text.size, &err), 0);
}

static void what_is_never_used_is_forgotten(void **state)
{
    (void)state;
    enum { DAY_MS = 24 * 3600 * 1000 };
    static const struct {
        int64_t age_ms;
        const char *more;
        size_t left;
    } cases[] = {
        {DAY_MS - 60000, ", \"used\": false", 1},
        {DAY_MS, ", \"used\": false", 0},
        {DAY_MS, ", \"used\": true", 1},
        {DAY_MS, "", 1}, /* of an older version */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEANUP_FREE struct pairing_entry *entries = NULL;
        write_pairings(1, cases[i].age_ms, cases[i].more);
        struct pairing *pairing = open_pairing();
        assert_int_equal(pairing_list(pairing, &entries), cases[i].left);
        pairing_close(pairing);
    }
}

static void the_first_use_is_written_down(void **state)
{
    (void)state;
    struct pairing_grant grant;
    struct pairing *pairing = open_pairing();
    struct pairing_paired paired = pair_once(pairing);
    CLEANUP_FREE char *before = read_pairings();
    assert_non_null(strstr(before, "\"used\": false"));
    assert_true(pairing_check(pairing, paired.token, &grant));
    CLEANUP_FREE char *after = read_pairings();
    assert_non_null(strstr(after, "\"used\": true"));
    pairing_close(pairing);
}

static void a_full_list_says_what_to_do(void **state)
{
    (void)state;
    enum { HOUR_MS = 3600 * 1000, FULL = 4096 };
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE], later[PAIRING_CODE_SIZE];
    struct pairing_paired paired;
    write_pairings(FULL, HOUR_MS, ", \"used\": true");
    struct pairing *pairing = open_pairing();
    pairing_code(pairing, code);
    assert_int_equal(pair(pairing, code, 0, &paired, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_MANY);
    assert_non_null(strstr(err.text, "berth unpair"));
    pairing_code(pairing, later);
    assert_string_equal(code, later);
    pairing_close(pairing);
    write_pairings(FULL, 24 * HOUR_MS, ", \"used\": false"); /* what nobody uses takes no room */
    pairing = open_pairing();
    pair_once(pairing);
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
        cmocka_unit_test_setup_teardown(the_nodes_code_gives_everything, make_home, remove_home),
        cmocka_unit_test_setup_teardown(case_and_dash_do_not_matter, make_home, remove_home),
        cmocka_unit_test_setup_teardown(tokens_survive_and_are_not_on_disk, make_home, remove_home),
        cmocka_unit_test_setup_teardown(what_is_no_token, make_home, remove_home),
        cmocka_unit_test_setup_teardown(guessing_is_slowed, make_home, remove_home),
        cmocka_unit_test_setup_teardown(who_guesses_is_in_nobodys_way, make_home, remove_home),
        cmocka_unit_test_setup_teardown(many_users_guess_no_faster, make_home, remove_home),
        cmocka_unit_test_setup_teardown(an_invite_gives_what_its_maker_said, make_home, remove_home),
        cmocka_unit_test_setup_teardown(an_operators_invite_has_no_limits, make_home, remove_home),
        cmocka_unit_test_setup_teardown(an_invite_ends, make_home, remove_home),
        cmocka_unit_test_setup_teardown(a_revoked_token_is_unknown, make_home, remove_home),
        cmocka_unit_test_setup_teardown(what_is_never_used_is_forgotten, make_home, remove_home),
        cmocka_unit_test_setup_teardown(the_first_use_is_written_down, make_home, remove_home),
        cmocka_unit_test_setup_teardown(a_full_list_says_what_to_do, make_home, remove_home),
        cmocka_unit_test_setup_teardown(a_broken_file_is_set_aside, make_home, remove_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
