/* The opening handshake of a view's WebSocket. */
#include "unit.h"

#include <string.h>

#include "view/handshake.h"

static const struct handshake good = {"websocket", "Upgrade", "13", "dGhlIHNhbXBsZSBub25jZQ=="};

static void the_example_of_the_standard(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char accept[HANDSHAKE_ACCEPT_SIZE];
    assert_int_equal(handshake_check(&good, accept, &err), 0);
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="); /* RFC 6455 section 1.3 */
}

static void as_browsers_write_it(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char accept[HANDSHAKE_ACCEPT_SIZE];
    struct handshake handshake = good;
    handshake.upgrade = "WebSocket";
    handshake.connection = "keep-alive, Upgrade";
    assert_int_equal(handshake_check(&handshake, accept, &err), 0);
}

static void refused(const struct handshake *handshake, const char *about)
{
    struct error err = ERROR_INIT;
    char accept[HANDSHAKE_ACCEPT_SIZE];
    assert_int_equal(handshake_check(handshake, accept, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    if (!strstr(err.text, about))
        fail_msg("\"%s\" does not speak of %s", err.text, about);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    static const char *const upgrades[] = {NULL, "", "h2c", "websockets", "web socket"};
    static const char *const connections[] = {NULL, "", "close", "keep-alive", "upgraded"};
    static const char *const versions[] = {NULL, "", "8", "013", "13, 8"};
    static const char *const keys[] = {
        NULL,
        "",
        "dGhlIHNhbXBsZSBub25jZQ=",
        "dGhlIHNhbXBsZSBub25jZQ===",
        "dGhlIHNhbXBsZSBub25jZQ",
        "dGhlIHNhbXBsZSBub25jZR==", /* bits where there are none */
        "dGhlIHNhbXBsZSBub25j Q==",
        "dGhlIHNhbXBsZSBub25=ZQ==",
        "dGhlIHNhbXBsZSBub25jZQ==dGhlIHNhbXBsZSBub25jZQ==",
    };
    for (size_t i = 0; i < sizeof upgrades / sizeof upgrades[0]; i++) {
        struct handshake handshake = good;
        handshake.upgrade = upgrades[i];
        refused(&handshake, "Upgrade");
    }
    for (size_t i = 0; i < sizeof connections / sizeof connections[0]; i++) {
        struct handshake handshake = good;
        handshake.connection = connections[i];
        refused(&handshake, "Upgrade");
    }
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        struct handshake handshake = good;
        handshake.version = versions[i];
        refused(&handshake, "Version");
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct handshake handshake = good;
        handshake.key = keys[i];
        refused(&handshake, "Key");
    }
}

static void lists(void **state)
{
    (void)state;
    char rest[8];
    assert_true(handshake_lists("binary", "binary"));
    assert_true(handshake_lists(" base64 ,\tBinary , x", "binary"));
    assert_false(handshake_lists("binary2, xbinary", "binary"));
    assert_false(handshake_lists("", "binary"));
    assert_false(handshake_lists(" , ,", "binary"));
    assert_true(handshake_find("binary, berthos.abc", "berthos.", rest, sizeof rest));
    assert_string_equal(rest, "abc");
    assert_true(handshake_find("berthos.1234567 ,berthos.2", "berthos.", rest, sizeof rest));
    assert_string_equal(rest, "1234567");
    assert_false(handshake_find("berthos.12345678", "berthos.", rest, sizeof rest)); /* does not fit */
    assert_false(handshake_find("binary, xberthos.abc, Berthos.abc", "berthos.", rest, sizeof rest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_standard),
        cmocka_unit_test(as_browsers_write_it),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
