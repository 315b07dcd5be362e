/* The HTTP client against a server that says exactly what a test wants, faults included. */
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/text.h"
#include "client.h"

/* Answers one connection with `answer`, and keeps what it was sent. */
struct server {
    int listener;
    char url[64];
    const char *answer; /* borrowed; NULL closes at once */
    bool silent;        /* answers nothing and waits for the client to go */
    char request[4096];
    pthread_t thread;
};

static void *serve(void *argument)
{
    struct server *server = argument;
    CLEANUP_CLOSE int peer = accept(server->listener, NULL, NULL);
    size_t used = 0;
    ssize_t got;
    while (peer >= 0 && used < sizeof server->request - 1 && !strstr(server->request, "\r\n\r\n") &&
           (got = recv(peer, server->request + used, sizeof server->request - 1 - used, 0)) > 0)
        used += (size_t)got;
    char rest;
    if (server->silent)
        while (recv(peer, &rest, 1, 0) > 0)
            continue;
    if (server->answer)
        send(peer, server->answer, strlen(server->answer), MSG_NOSIGNAL);
    return NULL;
}

/* Listens. The answer is given once server_run() was called. */
static struct server *server_start(const char *answer)
{
    struct server *server = unit_room(sizeof *server);
    server->answer = answer;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(server->listener, 4), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &length), 0);
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%u", ntohs(address.sin_port));
    return server;
}

/* The server may still be in accept(), where the client gave up before it connected. */
static void server_stop(void *argument)
{
    struct server *server = argument;
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
}

/* Until the end of the test, or end_now(). */
static void server_run(struct server *server)
{
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
    at_end(server_stop, server);
}

static void remove_proxies(void *nothing)
{
    (void)nothing;
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
}

static const struct client_request get = {.method = "GET", .path = "/v1/node", .timeout_ms = 5000};

/* Asks for one JSON document and gives back the error. */
static struct error asked(const char *answer, const struct client_request *request)
{
    struct server *server = server_start(answer);
    server_run(server);
    struct error err = ERROR_INIT;
    CLEANUP_CLIENT struct client *client = client_new(server->url, NULL, NULL);
    json_t *document = client_ask(client, request, &err);
    assert_null(document);
    end_now(server);
    return err;
}

#define ANSWER(status, body) "HTTP/1.1 " status "\r\nConnection: close\r\n\r\n" body

static void test_a_document_and_what_is_sent(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct server *server = server_start(ANSWER("201 Created", "{\"id\": \"x\"}"));
    server_run(server);
    /* A proxy that would be used by any other client. */
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    at_end(remove_proxies, NULL);
    CLEANUP_CLIENT struct client *client = client_new(server->url, "5ec2e7", NULL);
    json_t *body = json_pack("{s:s}", "os", "linux");
    struct client_request request = {
        .method = "POST", .path = "/v1/leases", .body = body, .timeout_ms = 5000};
    json_t *document = client_ask(client, &request, &err);
    if (!document)
        fail_msg("%s", err.text);
    assert_string_equal(json_string_value(json_object_get(document, "id")), "x");
    end_now(server);
    assert_true(text_starts(server->request, "POST /v1/leases HTTP/1.1\r\n"));
    assert_non_null(strstr(server->request, "\r\nAuthorization: Bearer 5ec2e7\r\n"));
    assert_non_null(strstr(server->request, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(server->request, "\r\nContent-Length: 14\r\n"));
    assert_null(strstr(server->request, "Expect:"));
    json_decref(document);
    json_decref(body);
}

static void test_headers_that_are_asked_for(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct client_header headers[] = {
        {"X-Frame-Width", ""}, {"X-Missing", "old"}, {"X-Long", ""}, {NULL, ""}};
    struct client_request request = get;
    request.headers = headers;
    struct server *server =
        server_start("HTTP/1.1 200 OK\r\nx-frame-width:  1280 \r\nX-Long: 0123456789012345678901234\r\n"
                     "Connection: close\r\n\r\n{}");
    server_run(server);
    CLEANUP_CLIENT struct client *client = client_new(server->url, NULL, NULL);
    CLEANUP_JSON json_t *document = client_ask(client, &request, &err);
    assert_non_null(document);
    assert_string_equal(headers[0].value, "1280");
    assert_string_equal(headers[1].value, "");
    assert_string_equal(headers[2].value, "");
}

static void test_refusals(void **state)
{
    (void)state;
    struct error err =
        asked(ANSWER("409 Conflict", "{\"error\": \"a lease is live\", \"code\": \"lease_live\"}"), &get);
    assert_string_equal(err.text, "a lease is live");
    assert_int_equal(err.code, ERROR_LEASE_LIVE);
    err =
        asked(ANSWER("401 Unauthorized", "{\"error\": \"unknown token\", \"code\": \"unauthorized\"}"), &get);
    assert_string_equal(err.text, "unknown token; run: berth pair");
    assert_int_equal(err.code, ERROR_UNAUTHORIZED);
    err = asked(ANSWER("401 Unauthorized", "{\"error\": \"no token: berth pair gives one\"}"), &get);
    assert_string_equal(err.text, "no token: berth pair gives one");
}

static void test_what_is_no_node(void **state)
{
    (void)state;
    static const char *const answers[] = {
        ANSWER("404 Not Found", "<html>"),
        ANSWER("500 Oops", "{\"error\": {\"message\": \"x\"}}"),
        ANSWER("302 Found", ""),
        ANSWER("502 Bad Gateway", ""),
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct error err = asked(answers[i], &get);
        if (!strstr(err.text, "is not a Berthos node"))
            fail_msg("%s gives \"%s\"", answers[i], err.text);
    }
    struct error err = asked(ANSWER("200 OK", "<html>"), &get);
    assert_non_null(strstr(err.text, "is not valid JSON"));
    err = asked("SSH-2.0-OpenSSH\r\n", &get);
    assert_true(err.text[0] != '\0');
}

static void test_redirects_are_not_followed(void **state)
{
    (void)state;
    struct error err =
        asked("HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nConnection: close\r\n\r\n", &get);
    assert_non_null(strstr(err.text, "HTTP 307"));
}

static void test_answers_are_bounded(void **state)
{
    (void)state;
    struct client_request small = get;
    small.max_bytes = 10;
    struct error err = asked(ANSWER("200 OK", "{\"a\": \"bcdefgh\"}"), &small);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_non_null(strstr(err.text, "larger than 10 bytes"));
}

static void test_a_cut_off_answer(void **state)
{
    (void)state;
    struct error err = asked(NULL, &get);
    assert_non_null(strstr(err.text, "closed the connection"));
    err = asked("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", &get);
    assert_non_null(strstr(err.text, "closed the connection"));
}

static void test_nobody_there(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct server *server = server_start(NULL);
    close(server->listener);
    CLEANUP_CLIENT struct client *client = client_new(server->url, NULL, NULL);
    assert_null(client_ask(client, &get, &err));
    CLEANUP_FREE char *sentence =
        text_format("no node answers at %s; start one with: berth node up", server->url);
    assert_string_equal(err.text, sentence);
}

static void test_time_out_and_cancel(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct client_request request = get;
    request.timeout_ms = 200;
    struct server *server = server_start(NULL);
    server->silent = true;
    server_run(server);
    CLEANUP_CLIENT struct client *client = client_new(server->url, NULL, NULL);
    assert_null(client_ask(client, &request, &err));
    assert_int_equal(err.code, ERROR_TIMEOUT);
    assert_non_null(strstr(err.text, "in time"));
    end_now(server);

    atomic_bool cancel = true;
    request.timeout_ms = CLIENT_NO_TIMEOUT;
    request.cancel = &cancel;
    server = server_start(NULL);
    server->silent = true;
    server_run(server);
    CLEANUP_CLIENT struct client *other = client_new(server->url, NULL, NULL);
    int64_t started_ms = clock_monotonic_ms();
    assert_null(client_ask(other, &request, &err));
    assert_string_equal(err.text, "interrupted");
    assert_true(clock_monotonic_ms() - started_ms < 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_a_document_and_what_is_sent),
        UNIT_TEST(test_headers_that_are_asked_for),
        UNIT_TEST(test_refusals),
        UNIT_TEST(test_what_is_no_node),
        UNIT_TEST(test_redirects_are_not_followed),
        UNIT_TEST(test_answers_are_bounded),
        UNIT_TEST(test_a_cut_off_answer),
        UNIT_TEST(test_nobody_there),
        UNIT_TEST(test_time_out_and_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
