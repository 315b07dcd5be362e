/* Tickets and session secrets of a view. */
#include "unit.h"

#include <string.h>

#include "base/text.h"
#include "view/tickets.h"

static const struct pass control = {.mode = VIEW_CONTROL, .grant = "grant-a"};
static const struct pass watch = {.mode = VIEW_WATCH, .grant = "grant-b"};

static void a_ticket_is_good_once(void **state)
{
    (void)state;
    CLEANUP(cleanup_tickets) struct tickets *tickets = tickets_new();
    char ticket[VIEW_SECRET_SIZE];
    struct pass pass = {0};
    tickets_issue(tickets, &watch, 1000, ticket);
    assert_true(text_is_hex(ticket, 64));
    assert_true(tickets_look(tickets, ticket, 1000, &pass)); /* looking leaves it */
    assert_int_equal(pass.mode, VIEW_WATCH);
    assert_string_equal(pass.grant, "grant-b");
    memset(&pass, 0, sizeof pass);
    assert_true(tickets_take(tickets, ticket, 2000, &pass));
    assert_int_equal(pass.mode, VIEW_WATCH);
    assert_string_equal(pass.grant, "grant-b");
    assert_false(tickets_take(tickets, ticket, 2000, &pass));
    assert_false(tickets_look(tickets, ticket, 2000, &pass));
}

static void a_ticket_lasts_a_minute(void **state)
{
    (void)state;
    CLEANUP(cleanup_tickets) struct tickets *tickets = tickets_new();
    char ticket[VIEW_SECRET_SIZE];
    struct pass pass;
    tickets_issue(tickets, &control, 5000, ticket);
    assert_true(tickets_look(tickets, ticket, 5000 + 59999, &pass));
    assert_false(tickets_look(tickets, ticket, 5000 + 60000, &pass));
    assert_false(tickets_take(tickets, ticket, 5000 + 60000, &pass));
}

static void no_two_are_alike(void **state)
{
    (void)state;
    CLEANUP(cleanup_tickets) struct tickets *tickets = tickets_new();
    char one[VIEW_SECRET_SIZE], other[VIEW_SECRET_SIZE];
    tickets_issue(tickets, &control, 0, one);
    tickets_issue(tickets, &control, 0, other);
    assert_string_not_equal(one, other);
    tickets_open_session(tickets, &control, 0, other);
    assert_string_not_equal(one, other);
}

static void only_what_was_made_is_good(void **state)
{
    (void)state;
    CLEANUP(cleanup_tickets) struct tickets *tickets = tickets_new();
    char ticket[VIEW_SECRET_SIZE], secret[VIEW_SECRET_SIZE];
    struct pass pass;
    /* an empty place must not be taken for the digest of anything */
    assert_false(tickets_look(tickets, "", 0, &pass));
    assert_false(tickets_session(tickets, "", 0, &pass));
    tickets_issue(tickets, &control, 0, ticket);
    tickets_open_session(tickets, &control, 0, secret);
    /* a ticket is no secret, nor the other way round */
    assert_false(tickets_session(tickets, ticket, 0, &pass));
    assert_false(tickets_look(tickets, secret, 0, &pass));
    assert_false(tickets_take(tickets, secret, 0, &pass));
    ticket[63] = ticket[63] == '0' ? '1' : '0';
    assert_false(tickets_look(tickets, ticket, 0, &pass));
    ticket[63] = '\0';
    assert_false(tickets_look(tickets, ticket, 0, &pass));
    assert_false(
        tickets_look(tickets, "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF", 0, &pass));
}

static void a_secret_stays(void **state)
{
    (void)state;
    CLEANUP(cleanup_tickets) struct tickets *tickets = tickets_new();
    char secret[VIEW_SECRET_SIZE];
    struct pass pass;
    tickets_open_session(tickets, &control, 0, secret);
    for (int64_t now_ms = 0; now_ms < 100000000; now_ms += 10000000)
        assert_true(tickets_session(tickets, secret, now_ms, &pass));
    assert_int_equal(pass.mode, VIEW_CONTROL);
}

static void their_number_is_bounded(void **state)
{
    (void)state;
    CLEANUP(cleanup_tickets) struct tickets *tickets = tickets_new();
    char used[VIEW_SECRET_SIZE], unused[VIEW_SECRET_SIZE], other[VIEW_SECRET_SIZE];
    struct pass pass;
    tickets_open_session(tickets, &control, 0, used);
    tickets_open_session(tickets, &control, 1, unused);
    for (int i = 0; i < SESSIONS_MAX - 2; i++)
        tickets_open_session(tickets, &control, 10 + i, other);
    assert_true(tickets_session(tickets, used, 1000, &pass));
    tickets_open_session(tickets, &control, 1001, other); /* one too many: the one used longest ago goes */
    assert_true(tickets_session(tickets, other, 1002, &pass));
    assert_true(tickets_session(tickets, used, 1002, &pass));
    assert_false(tickets_session(tickets, unused, 1002, &pass));

    char first[VIEW_SECRET_SIZE];
    tickets_issue(tickets, &control, 2000, first);
    for (int i = 0; i < TICKETS_MAX; i++)
        tickets_issue(tickets, &control, 2001 + i, other);
    assert_false(tickets_look(tickets, first, 2100, &pass));
    assert_true(tickets_look(tickets, other, 2100, &pass));
}

static void revocation_takes_all_of_one_grant(void **state)
{
    (void)state;
    CLEANUP(cleanup_tickets) struct tickets *tickets = tickets_new();
    char tickets_of[2][VIEW_SECRET_SIZE], secrets_of[2][VIEW_SECRET_SIZE];
    struct pass pass;
    tickets_issue(tickets, &control, 0, tickets_of[0]);
    tickets_issue(tickets, &watch, 0, tickets_of[1]);
    tickets_open_session(tickets, &control, 0, secrets_of[0]);
    tickets_open_session(tickets, &watch, 0, secrets_of[1]);
    tickets_revoke(tickets, "grant-a");
    assert_false(tickets_look(tickets, tickets_of[0], 0, &pass));
    assert_false(tickets_session(tickets, secrets_of[0], 0, &pass));
    assert_true(tickets_look(tickets, tickets_of[1], 0, &pass));
    assert_true(tickets_session(tickets, secrets_of[1], 0, &pass));
    assert_true(tickets_revoked(tickets, "grant-a"));
    assert_false(tickets_revoked(tickets, "grant-b"));
    /* what a request under way still makes is not good */
    tickets_issue(tickets, &control, 0, tickets_of[0]);
    tickets_open_session(tickets, &control, 0, secrets_of[0]);
    assert_true(text_is_hex(tickets_of[0], 64));
    assert_false(tickets_look(tickets, tickets_of[0], 0, &pass));
    assert_false(tickets_session(tickets, secrets_of[0], 0, &pass));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ticket_is_good_once),
        cmocka_unit_test(a_ticket_lasts_a_minute),
        cmocka_unit_test(no_two_are_alike),
        cmocka_unit_test(only_what_was_made_is_good),
        cmocka_unit_test(a_secret_stays),
        cmocka_unit_test(their_number_is_bounded),
        cmocka_unit_test(revocation_takes_all_of_one_grant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
