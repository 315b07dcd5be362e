/* The HTTP server as a client meets it on the wire: what it takes for a request, how long, and from whom. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "web/server.h"

enum { PATIENCE_MS = 20000, REQUEST_MS = 300, SHARE = 3, STRANGERS = 8 };

/* --- a server -------------------------------------------------------------------------------------- */

static int get_hello(struct exchange *exchange, struct error *err)
{
    (void)err;
    return answer_json(exchange, MHD_HTTP_OK, json_pack("{s:s}", "method", exchange->method));
}

static int post_echo(struct exchange *exchange, struct error *err)
{
    json_t *body = exchange_json(exchange, err);
    return body ? answer_json(exchange, MHD_HTTP_OK, body) : -1;
}

/* Longer than a request may take to come: the time of the answer is no part of it. */
static int get_slow(struct exchange *exchange, struct error *err)
{
    (void)err;
    usleep(2 * REQUEST_MS * 1000);
    return answer_empty(exchange, MHD_HTTP_NO_CONTENT);
}

/* Two at once for everybody. */
static int authorize(struct exchange *exchange, const struct route *route, struct error *err)
{
    (void)route;
    return exchange_share(exchange, "everybody", 2, err);
}

static const struct route routes[] = {
    {"GET", "/shared", AUTH_LEASE, get_slow}, {"GET", "/hello", AUTH_NONE, get_hello},
    {"GET", "/slow", AUTH_NONE, get_slow},    {"POST", "/echo", AUTH_NONE, post_echo},
    {"POST", "/large", AUTH_NONE, post_echo}, {0},
};

static const struct route *const tables[] = {routes, NULL};

/* To this process an operator, or with policy NULL a stranger. */
static struct web_server *start_server(const struct peer_policy *policy, int64_t request_ms)
{
    struct error err = ERROR_INIT;
    const struct web_options options = {.bind = "127.0.0.1",
                                        .tables = tables,
                                        .large = "/large",
                                        .peers = policy,
                                        .authorize = authorize,
                                        .connections_max = 64,
                                        .strangers_max = STRANGERS,
                                        .stranger_max = SHARE,
                                        .request_ms = request_ms};
    struct web_server *server = web_server_start(&options, &err);
    if (!server)
        fail_msg("%s", err.text);
    return server;
}

static struct web_server *start_for_operators(int64_t request_ms)
{
    static struct peer_policy policy;
    policy = peer_policy_own("nobody-at-all");
    return start_server(&policy, request_ms);
}

/* --- a client -------------------------------------------------------------------------------------- */

static int connect_client(const struct web_server *server)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(web_server_port(server)),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void send_bytes(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0)
            return; /* refused before all was read */
        bytes += sent;
        size -= (size_t)sent;
    }
}

/* Reads one answer, or what there is of it before the connection ends. *ended: whether it did. */
static size_t read_answer(int fd, char *answer, size_t size, bool *ended)
{
    size_t got = 0;
    *ended = false;
    answer[0] = '\0';
    for (;;) {
        const char *body = strstr(answer, "\r\n\r\n"), *length = strcasestr(answer, "Content-Length:");
        if (body && got >= (size_t)(body + 4 - answer) + (length ? strtoul(length + 15, NULL, 10) : 0))
            return got;
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&waiting, 1, PATIENCE_MS), 1);
        ssize_t now = recv(fd, answer + got, size - 1 - got, 0);
        if (now <= 0) {
            *ended = true;
            return got;
        }
        got += (size_t)now;
        answer[got] = '\0';
    }
}

/* The status of the answer to these bytes on a connection of their own; 0 for none. */
static int status_of(const struct web_server *server, const char *bytes, size_t size)
{
    char answer[65536];
    bool ended;
    CLEANUP_CLOSE int fd = connect_client(server);
    send_bytes(fd, bytes, size);
    read_answer(fd, answer, sizeof answer, &ended);
    return answer[0] ? atoi(answer + strlen("HTTP/1.1 ")) : 0;
}

static int status_of_text(const struct web_server *server, const char *text)
{
    return status_of(server, text, strlen(text));
}

/* --- the form of a request ------------------------------------------------------------------------- */

#define HELLO "GET /hello HTTP/1.1\r\nHost: localhost\r\n"
#define ECHO  "POST /echo HTTP/1.1\r\nHost: localhost\r\n"

static void what_everybody_reads_alike_is_answered(void **state)
{
    (void)state;
    struct web_server *server = start_for_operators(0);
    static const char *const good[] = {
        HELLO "\r\n",
        HELLO "Accept: */*\r\nUser-Agent: a b  c\r\nX-Empty:\r\nX-Blank: \r\nX-Trailing: a \t\r\n\r\n",
        HELLO "Cookie: a=b; c=d\r\nX-Tab:\ta\tb\r\nConnection: close\r\n\r\n",
        "GET /hello?a=b&c=%20d+e&f HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /hell%6f HTTP/1.1\r\nhost: localhost\r\n\r\n",
        ECHO "Content-Length: 2\r\n\r\n{}",
        ECHO "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "GET /hello HTTP/1.0\r\nHost: localhost\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (status_of_text(server, good[i]) != 200)
            fail_msg("refused: %s", good[i]);
    web_server_stop(server);
}

static void two_opinions_are_refused(void **state)
{
    (void)state;
    struct web_server *server = start_for_operators(0);
    static const char *const bad[] = {
        ECHO "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        ECHO "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        ECHO "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        ECHO "Content-Length: 2\r\nContent-Length: 0\r\n\r\n{}",
        ECHO "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        ECHO "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}",
        ECHO "Content-Length : 2\r\n\r\n{}",
        "GET /hello HTTP/1.1\r\nHost : localhost\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\nX Y: a\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\n: a\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n",
        "GET /hello HTTP/1.1\nHost: localhost\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\n\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\n\n",
        "GET /hello HTTP/1.1\nHost: localhost\n\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\nX: a\nContent-Length: 0\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\nX: a\x01\r\n\r\n",
        "GET /hello%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /hello?a=%0d%0Ab HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /hello%7F HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /hello\x01 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /hello\t HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /hello\r\nHost: localhost\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int status = status_of_text(server, bad[i]);
        if (status != 400 && status != 505)
            fail_msg("%d for: %s", status, bad[i]);
    }
    /* this one the library refuses by itself, without a word */
    assert_int_equal(status_of_text(server, "GET /hello  HTTP/1.1\r\nHost: localhost\r\n\r\n"), 0);
    web_server_stop(server);
}

static void zeros_are_refused(void **state)
{
    (void)state;
    struct web_server *server = start_for_operators(0);
#define BYTES(text) text, sizeof text - 1
    assert_int_equal(status_of(server, BYTES("GET /hello\0 HTTP/1.1\r\nHost: localhost\r\n\r\n")), 400);
    assert_int_equal(status_of(server, BYTES("GET /hello HTTP/1.1\r\nHost: localhost\0\r\n\r\n")), 400);
    assert_int_equal(status_of(server, BYTES("GET /hello HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n")),
                     400);
    assert_int_equal(status_of(server, BYTES("GET /hello HTTP/1.1\r\nHost: localhost\r\n\0\r\n\r\n")), 400);
    assert_int_equal(
        status_of(server, BYTES("GET /hello HTTP/1.1\r\nHost: localhost\r\nX: a\r\n\0X\r\n\r\n")), 400);
    web_server_stop(server);
}

/* The library reads into one buffer that grows: heads that come in pieces, and long ones, lie in it as
 * others. */
static void however_it_comes_it_is_one_request(void **state)
{
    (void)state;
    struct web_server *server = start_for_operators(0);
    char answer[4096];
    bool ended;
    CLEANUP_CLOSE int slow = connect_client(server);
    static const char request[] = HELLO "X-A: b\r\nX-C: d\r\n\r\n";
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < sizeof request - 1; i++) {
            send_bytes(slow, request + i, 1);
            usleep(500);
        }
        read_answer(slow, answer, sizeof answer, &ended);
        assert_true(text_starts(answer, "HTTP/1.1 200"));
    }
    struct text_buffer large = {0};
    text_add(&large, HELLO, strlen(HELLO));
    for (int i = 0; i < 200; i++) {
        CLEANUP_FREE char *line = text_format("X-Header-%d: %040d\r\n", i, i);
        text_add(&large, line, strlen(line));
    }
    text_add(&large, "\r\n", 2);
    CLEANUP_CLOSE int fd = connect_client(server);
    for (size_t at = 0; at < large.size; at += 1000) {
        send_bytes(fd, large.text + at, large.size - at < 1000 ? large.size - at : 1000);
        usleep(500);
    }
    read_answer(fd, answer, sizeof answer, &ended);
    assert_int_equal(atoi(answer + strlen("HTTP/1.1 ")), 200);
    free(large.text);
    web_server_stop(server);
}

static void a_refused_form_ends_the_connection(void **state)
{
    (void)state;
    struct web_server *server = start_for_operators(0);
    char answer[8192];
    bool ended;
    CLEANUP_CLOSE int fd = connect_client(server);
    static const char both[] =
        ECHO "Content-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HELLO "\r\n";
    send_bytes(fd, both, sizeof both - 1);
    size_t got = read_answer(fd, answer, sizeof answer, &ended);
    assert_true(text_starts(answer, "HTTP/1.1 400"));
    assert_non_null(strcasestr(answer, "Connection: close"));
    ssize_t more = recv(fd, answer + got, sizeof answer - got, 0);
    assert_true(more == 0 || (more < 0 && errno == ECONNRESET)); /* what was behind it is no request */
    web_server_stop(server);
}

static void head_is_get_without_a_body(void **state)
{
    (void)state;
    struct web_server *server = start_for_operators(0);
    char get[4096], head[4096];
    CLEANUP_CLOSE int fd = connect_client(server);
    bool ended;
    send_bytes(fd, HELLO "\r\n", strlen(HELLO "\r\n"));
    read_answer(fd, get, sizeof get, &ended);
    static const char request[] = "HEAD /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    send_bytes(fd, request, sizeof request - 1);
    size_t got = 0;
    for (ssize_t now; (now = recv(fd, head + got, sizeof head - 1 - got, 0)) > 0;)
        got += (size_t)now;
    head[got] = '\0';
    assert_true(text_starts(head, "HTTP/1.1 200"));
    assert_string_equal(strstr(head, "\r\n\r\n"), "\r\n\r\n");
    assert_non_null(strstr(head, "Content-Length: 1")); /* of {"method":"HEAD"} */
    assert_int_equal(
        status_of_text(server, "HEAD /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), 405);
    assert_int_equal(
        status_of_text(server, "HEAD /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), 404);
    web_server_stop(server);
}

/* --- bodies ---------------------------------------------------------------------------------------- */

static int post_filled(const struct web_server *server, const char *path, const char *unit, size_t size)
{
    struct text_buffer body = {0};
    for (text_add(&body, "[", 1); body.size + strlen(unit) + 1 < size;)
        text_add(&body, unit, strlen(unit));
    while (body.size + 1 < size)
        text_add(&body, " ", 1);
    text_add(&body, "]", 1);
    CLEANUP_FREE char *head =
        text_format("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n", path, body.size);
    struct text_buffer request = {0};
    text_add(&request, head, strlen(head));
    text_add(&request, body.text, body.size);
    int status = status_of(server, request.text, request.size);
    free(body.text);
    free(request.text);
    return status;
}

static void bodies_have_a_size(void **state)
{
    (void)state;
    struct web_server *server = start_for_operators(0);
    assert_int_equal(post_filled(server, "/echo", " ", WEB_BODY_MAX), 200);
    assert_int_equal(post_filled(server, "/echo", " ", WEB_BODY_MAX + 1), 413);
    assert_int_equal(post_filled(server, "/large", " ", WEB_BODY_LARGE_MAX), 200);
    assert_int_equal(post_filled(server, "/large", " ", WEB_BODY_LARGE_MAX + 1), 413);
    web_server_stop(server);
}

/* Values cost memory by their number, not by their bytes. */
static void bodies_have_a_number_of_values(void **state)
{
    (void)state;
    struct web_server *server = start_for_operators(0);
    assert_int_equal(post_filled(server, "/large", "{},", WEB_BODY_LARGE_MAX), 413);
    assert_int_equal(post_filled(server, "/large", "0,", WEB_BODY_LARGE_MAX), 413);
    assert_int_equal(post_filled(server, "/large", "[", WEB_BODY_LARGE_MAX), 413);
    assert_int_equal(post_filled(server, "/large", "{},", 3000),
                     400); /* few enough; the last comma is wrong */
    char quoted[40000];
    memset(quoted, ',', sizeof quoted);
    memcpy(quoted, "[\"\\\"", 4);
    memcpy(quoted + sizeof quoted - 3, "\"]", 3);
    CLEANUP_FREE char *request = text_format(
        "POST /large HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s", strlen(quoted), quoted);
    assert_int_equal(status_of_text(server, request), 200); /* commas in a text are no values */
    web_server_stop(server);
}

/* --- time ------------------------------------------------------------------------------------------ */

/* Sends a byte again and again until the connection ends. What was answered is in `answer`. */
static void drip(int fd, const char *bytes, char *answer, size_t size)
{
    size_t got = 0;
    int64_t deadline_ms = clock_deadline(PATIENCE_MS);
    for (;;) {
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        if (*bytes)
            send(fd, bytes++, 1, MSG_NOSIGNAL);
        if (poll(&waiting, 1, REQUEST_MS / 10) == 0) {
            assert_true(clock_monotonic_ms() < deadline_ms);
            continue;
        }
        ssize_t now = recv(fd, answer + got, size - 1 - got, 0);
        if (now <= 0)
            break;
        got += (size_t)now;
    }
    answer[got] = '\0';
}

static void a_request_that_drips_is_cut_off(void **state)
{
    (void)state;
    struct web_server *server = start_for_operators(REQUEST_MS);
    static const char *const slow[] = {
        HELLO "X-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n\r\n",
        ECHO "Content-Length: 100\r\n\r\n[                                                                "};
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        char answer[4096];
        CLEANUP_CLOSE int fd = connect_client(server);
        drip(fd, slow[i], answer, sizeof answer);
        assert_true(text_starts(answer, "HTTP/1.1 408"));
        assert_non_null(strstr(answer, "\"timeout\""));
    }
    web_server_stop(server);
}

static void nothing_else_is_cut_off(void **state)
{
    (void)state;
    struct web_server *server = start_for_operators(REQUEST_MS);
    char answer[4096];
    bool ended;
    CLEANUP_CLOSE int fd = connect_client(server);
    static const char slow[] = "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (int turn = 0; turn < 2; turn++) {
        usleep(2 * REQUEST_MS * 1000); /* nothing was sent yet */
        send_bytes(fd, slow, sizeof slow - 1);
        read_answer(fd, answer, sizeof answer, &ended);
        assert_true(text_starts(answer, "HTTP/1.1 204"));
    }
    /* and the second request of a connection has a deadline as the first has */
    drip(fd, HELLO "X-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n\r\n", answer,
         sizeof answer);
    assert_true(text_starts(answer, "HTTP/1.1 408"));
    web_server_stop(server);
}

/* --- shares ---------------------------------------------------------------------------------------- */

static int status_on(int fd)
{
    char answer[4096];
    bool ended;
    send_bytes(fd, HELLO "\r\n", strlen(HELLO "\r\n"));
    read_answer(fd, answer, sizeof answer, &ended);
    return answer[0] ? atoi(answer + strlen("HTTP/1.1 ")) : 0;
}

static void a_stranger_has_a_share(void **state)
{
    (void)state;
    struct web_server *server = start_server(NULL, 0);
    int fds[STRANGERS + 1];
    for (int i = 0; i < SHARE; i++) {
        fds[i] = connect_client(server);
        assert_int_equal(status_on(fds[i]), 200);
    }
    for (int i = SHARE; i < STRANGERS; i++)
        fds[i] = connect_client(server);
    fds[STRANGERS] = connect_client(server); /* one too many for all strangers: closed unanswered */
    assert_int_equal(status_on(fds[STRANGERS]), 0);
    assert_int_equal(status_on(fds[SHARE]), 429);
    close(fds[STRANGERS]);
    for (int i = SHARE; i < STRANGERS; i++)
        close(fds[i]);
    for (int i = 0; i < SHARE; i++)
        assert_int_equal(status_on(fds[i]), 200); /* those that are within it notice nothing */
    close(fds[0]);
    int status = 0;
    for (int64_t deadline_ms = clock_deadline(PATIENCE_MS); status != 200;) {
        CLEANUP_CLOSE int fd = connect_client(server); /* what was given back can be had */
        status = status_on(fd);
        assert_true(clock_monotonic_ms() < deadline_ms);
    }
    for (int i = 1; i < SHARE; i++)
        close(fds[i]);
    web_server_stop(server);
}

static void an_operator_may_have_all(void **state)
{
    (void)state;
    struct web_server *server = start_for_operators(0);
    int fds[3 * STRANGERS];
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        fds[i] = connect_client(server);
        assert_int_equal(status_on(fds[i]), 200);
    }
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        close(fds[i]);
    web_server_stop(server);
}

static void requests_have_a_share(void **state)
{
    (void)state;
    struct web_server *server = start_for_operators(0);
    char answer[4096];
    bool ended;
    int fds[3];
    static const char request[] = "GET /shared HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (int turn = 0; turn < 2; turn++) { /* what was given back can be had again */
        for (int i = 0; i < 3; i++) {
            fds[i] = connect_client(server);
            send_bytes(fds[i], request, sizeof request - 1);
        }
        int refused = 0;
        for (int i = 0; i < 3; i++) {
            read_answer(fds[i], answer, sizeof answer, &ended);
            refused += atoi(answer + strlen("HTTP/1.1 ")) == 429;
            close(fds[i]);
        }
        assert_int_equal(refused, 1);
    }
    web_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_everybody_reads_alike_is_answered),
        cmocka_unit_test(two_opinions_are_refused),
        cmocka_unit_test(zeros_are_refused),
        cmocka_unit_test(however_it_comes_it_is_one_request),
        cmocka_unit_test(a_refused_form_ends_the_connection),
        cmocka_unit_test(head_is_get_without_a_body),
        cmocka_unit_test(bodies_have_a_size),
        cmocka_unit_test(bodies_have_a_number_of_values),
        cmocka_unit_test(a_request_that_drips_is_cut_off),
        cmocka_unit_test(nothing_else_is_cut_off),
        cmocka_unit_test(a_stranger_has_a_share),
        cmocka_unit_test(an_operator_may_have_all),
        cmocka_unit_test(requests_have_a_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
