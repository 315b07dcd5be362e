/* Who may come in by the headers that a browser sets (CONTRACT.md section 3, defence against pages). */
#include "unit.h"

#include "web/guard.h"

static int check(const char *host, const char *origin, const char *site)
{
    struct error err = ERROR_INIT;
    int passed = guard_check(host, origin, site, &err);
    if (passed < 0)
        assert_int_equal(err.code, ERROR_FORBIDDEN);
    return passed;
}

static void hosts(void **state)
{
    (void)state;
    static const char *const good[] = {"127.0.0.1", "127.0.0.1:7432", "localhost",      "LocalHost:1",
                                       "[::1]",     "[::1]:80",       "127.0.0.9:7432", "127.255.255.254"};
    static const char *const bad[] = {NULL,
                                      "",
                                      "evil.example",
                                      "127.0.0.1.evil.example",
                                      "localhost.",
                                      "localhost:",
                                      "localhost:70000",
                                      "127.0.0.1:80:80",
                                      "127.0.0.1 x",
                                      "::1",
                                      "127.0.0.2.",
                                      "localhost@evil.example",
                                      "[::1].evil",
                                      "127.0.0.9.evil.example",
                                      "127.0.0.9:80/",
                                      "127.9",
                                      "[::2]",
                                      "0.0.0.0",
                                      "127.0.0.1:-1",
                                      "localhostx"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(check(good[i], NULL, NULL), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(check(bad[i], NULL, NULL), -1);
}

static void origins(void **state)
{
    (void)state;
    assert_int_equal(check("127.0.0.1:7432", "http://127.0.0.1:7432", NULL), 0);
    assert_int_equal(check("127.0.0.1:7432", "http://127.0.0.1:8080", NULL), -1);
    assert_int_equal(check("127.0.0.1:7432", "http://localhost:7432", NULL), -1);
    assert_int_equal(check("127.0.0.1:7432", "https://127.0.0.1:7432", NULL), -1);
    assert_int_equal(check("127.0.0.1:7432", "http://evil.example", NULL), -1);
    assert_int_equal(check("127.0.0.1:7432", "null", NULL), -1);
    assert_int_equal(check("127.0.0.1:7432", "", NULL), -1);
}

static void fetch_metadata(void **state)
{
    (void)state;
    assert_int_equal(check("localhost", NULL, "same-origin"), 0);
    assert_int_equal(check("localhost", NULL, "none"), 0);
    assert_int_equal(check("localhost", NULL, "same-site"), -1);
    assert_int_equal(check("localhost", NULL, "cross-site"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hosts), cmocka_unit_test(origins),
                                       cmocka_unit_test(fetch_metadata)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
