/* base/loopback.h: what loopback is, for bind, Host, a URL and a peer alike. */
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/loopback.h"

static void addresses(void **state)
{
    (void)state;
    static const char *const inside[] = {"127.0.0.1", "127.255.255.254", "::1", "0:0:0:0:0:0:0:1"};
    static const char *const outside[] = {
        "0.0.0.0", "128.0.0.1",  "10.0.0.1",         "::",    "localhost",   "",
        "127.1",   "127.0.0.1 ", "::ffff:127.0.0.1", "[::1]", "127.0.0.1:80"};
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++)
        if (!loopback_address(inside[i]))
            fail_msg("%s is loopback", inside[i]);
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        if (loopback_address(outside[i]))
            fail_msg("%s is not loopback", outside[i]);
}

/* How much of the text is a loopback host with its port, and the port. */
static void hosts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        int64_t port;
    } cases[] = {
        {"127.0.0.1", 9, -1},
        {"127.0.0.9:7432/x", 14, 7432},
        {"127.255.255.254:0", 17, 0},
        {"LocalHost:65535", 15, 65535},
        {"localhost/", 9, -1},
        {"[::1]", 5, -1},
        {"[::1]:80", 8, 80},
        {"[0:0:0:0:0:0:0:1]", 17, -1},
        {"[::1]x", 5, -1}, /* the rest is the caller's to judge */
    };
    static const char *const none[] = {
        "",
        ":80",
        "/",
        "::1",
        "[",
        "[]",
        "[::1",
        "[::2]",
        "[127.0.0.1]",
        "128.0.0.1",
        "127.1",
        "127.0.0.1.",
        "127.0.0.01",
        "localhost.",
        "localhostx",
        "127.0.0.1 ",
        "127.0.0.1:",
        "[::1]:x",
        "127.0.0.1:65536",
        "localhost:-1",
        "localhost:000001",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "127.0.0.1@evil.example",
        "[::ffff:127.0.0.1]",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t port = 7;
        if (loopback_host(cases[i].text, &port) != cases[i].length || port != cases[i].port)
            fail_msg("%s: %zu, port %d", cases[i].text, loopback_host(cases[i].text, &port), (int)port);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        int64_t port;
        if (loopback_host(none[i], &port) != 0)
            fail_msg("%s was taken", none[i]);
    }
}

static void peers(void **state)
{
    (void)state;
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    const struct sockaddr other = {.sa_family = AF_UNIX};
    v4.sin_addr.s_addr = inet_addr("127.8.9.1");
    assert_true(loopback_peer((struct sockaddr *)&v4));
    v4.sin_addr.s_addr = inet_addr("10.0.0.127");
    assert_false(loopback_peer((struct sockaddr *)&v4));
    assert_false(loopback_peer((struct sockaddr *)&v6));
    v6.sin6_addr = in6addr_loopback;
    assert_true(loopback_peer((struct sockaddr *)&v6));
    assert_false(loopback_peer(&other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(addresses), cmocka_unit_test(hosts),
                                       cmocka_unit_test(peers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
