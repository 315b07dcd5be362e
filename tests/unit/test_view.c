/* A view without a guest: who is sent away and with which words, over real sockets. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "fake_rfb.h"
#include "pairing/pairing.h"
#include "view/view.h"

enum { FAKES = 8, PATIENCE_S = 10 };

struct scene {
    char home[64];
    struct pairing *pairing;
    char token[2][PAIRING_TOKEN_SIZE];
    struct pairing_grant grant[2];
    struct holds *holds;
    struct view *view;
    bool ended;
    struct fake *fakes[FAKES];
    size_t fake_count;
    bool no_display;
};

static int open_display(void *context, struct error *err)
{
    struct scene *scene = context;
    if (scene->no_display)
        return error_set(err, ERROR_GUEST_FAILED, "the guest has no display today");
    if (scene->fake_count == FAKES)
        return error_set(err, ERROR_INTERNAL, "the test has no display left");
    struct fake *fake = fake_start(64, 48, FAKE_FINE);
    scene->fakes[scene->fake_count++] = fake;
    return fake->client_fd;
}

static int begin(void **state)
{
    struct error err = ERROR_INIT;
    struct scene *scene = calloc(1, sizeof *scene);
    char code[PAIRING_CODE_SIZE];
    *state = scene;
    snprintf(scene->home, sizeof scene->home, "/tmp/berthos-view-XXXXXX");
    if (!mkdtemp(scene->home) || !(scene->pairing = pairing_open(scene->home, &err)))
        return -1;
    for (int i = 0; i < 2; i++) {
        pairing_code(scene->pairing, code);
        struct pairing_paired paired;
        if (pairing_pair(scene->pairing, &(struct peer){0}, code, CAPABILITY_OPERATOR, &paired, &err) < 0)
            return -1;
        memcpy(scene->token[i], paired.token, sizeof paired.token);
        scene->grant[i] = paired.grant;
    }
    scene->holds = holds_new();
    scene->view = view_open(&(struct view_options){.lease_id = "l_0123456789abcdef0123456789abcdef",
                                                   .owner = scene->grant[0].id,
                                                   .expires_boot_ms = CLOCK_NEVER,
                                                   .assets = scene->home,
                                                   .pairing = scene->pairing,
                                                   .holds = scene->holds,
                                                   .open_display = open_display,
                                                   .context = scene},
                            &err);
    return scene->view ? 0 : -1;
}

static int finish(void **state)
{
    struct scene *scene = *state;
    char path[96];
    if (!scene->ended)
        view_end(scene->view, VIEW_LEASE_ENDED);
    view_free(scene->view);
    for (size_t i = 0; i < scene->fake_count; i++)
        fake_stop(scene->fakes[i]);
    holds_free(scene->holds);
    pairing_close(scene->pairing);
    snprintf(path, sizeof path, "%s/pairings.json", scene->home);
    unlink(path);
    rmdir(scene->home);
    free(scene);
    return 0;
}

/* --- a client -------------------------------------------------------------------------------------- */

static int dial(const struct scene *scene)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(view_port(scene->view)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Sends a request and gives the status of the answer, whose head is read to its end. */
static int ask(int fd, const char *line, const char *credential, const char *more)
{
    char request[1024], head[2048];
    size_t got = 0;
    int length = snprintf(request, sizeof request,
                          "%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n%s\r\n", line,
                          credential, more);
    assert_int_equal(send(fd, request, (size_t)length, MSG_NOSIGNAL), length);
    while (got < 4 || memcmp(head + got - 4, "\r\n\r\n", 4) != 0) {
        assert_true(got < sizeof head);
        assert_int_equal(recv(fd, head + got, 1, 0), 1);
        got++;
    }
    return atoi(head + strlen("HTTP/1.1 "));
}

#define UPGRADE                                                                                              \
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"                             \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

/* A viewer; *status is that of the answer. */
static int join(const struct scene *scene, const char *token, int *status)
{
    int fd = dial(scene);
    assert_true(fd >= 0);
    *status = ask(fd, "GET /websockify", token, UPGRADE);
    return fd;
}

static int viewer(const struct scene *scene, const char *token)
{
    int status, fd = join(scene, token, &status);
    assert_int_equal(status, 101);
    return fd;
}

static int status_of(const struct scene *scene, const char *line, const char *credential)
{
    int fd = dial(scene);
    assert_true(fd >= 0);
    int status = ask(fd, line, credential, "");
    close(fd);
    return status;
}

static void read_whole(int fd, void *data, size_t size)
{
    assert_int_equal(recv(fd, data, size, MSG_WAITALL), size);
}

/* The next frame, of a short one's payload; returns the opcode. */
static int next_frame(int fd, uint8_t payload[126], size_t *size)
{
    uint8_t head[2];
    read_whole(fd, head, 2);
    assert_true(head[1] < 126);
    *size = head[1];
    read_whole(fd, payload, *size);
    payload[*size] = '\0';
    return head[0] & 0xf;
}

/* Reads to the close frame, and to the end after it. */
static void expect_close(int fd, int code, const char *reason)
{
    uint8_t payload[126];
    size_t size;
    while (next_frame(fd, payload, &size) != 8)
        continue;
    assert_true(size >= 2);
    assert_int_equal(payload[0] << 8 | payload[1], code);
    assert_string_equal((char *)payload + 2, reason);
    assert_int_equal(recv(fd, payload, 1, 0), 0);
    close(fd);
}

/* The viewer is still served: its ping is answered. */
static void expect_alive(int fd)
{
    static const uint8_t ping[] = {0x89, 0x82, 1, 2, 3, 4, 'h' ^ 1, 'i' ^ 2};
    uint8_t payload[126];
    size_t size;
    assert_int_equal(send(fd, ping, sizeof ping, MSG_NOSIGNAL), sizeof ping);
    while (next_frame(fd, payload, &size) != 10)
        continue;
    assert_string_equal((char *)payload, "hi");
}

/* --- cases ----------------------------------------------------------------------------------------- */

static void revocation(void **state)
{
    struct scene *scene = *state;
    char ticket[VIEW_SECRET_SIZE];
    int revoked = viewer(scene, scene->token[0]), other = viewer(scene, scene->token[1]);
    view_ticket(scene->view, VIEW_WATCH, scene->grant[0].id, ticket);
    int by_ticket = viewer(scene, ticket);
    view_ticket(scene->view, VIEW_WATCH, scene->grant[0].id, ticket);
    view_revoke(scene->view, scene->grant[0].id);
    expect_close(revoked, 4002, "access was revoked");
    expect_close(by_ticket, 4002, "access was revoked");
    assert_int_equal(status_of(scene, "POST /session", ticket), 401);
    expect_alive(other);
    close(other);
    view_ticket(scene->view, VIEW_CONTROL, scene->grant[1].id, ticket);
    assert_int_equal(status_of(scene, "POST /session", ticket), 200);
}

static void the_end_of_the_lease(void **state)
{
    struct scene *scene = *state;
    int first = viewer(scene, scene->token[0]), second = viewer(scene, scene->token[1]);
    expect_alive(first);
    view_end(scene->view, VIEW_LEASE_ENDED);
    scene->ended = true;
    expect_close(first, 4001, "the lease has ended");
    expect_close(second, 4001, "the lease has ended");
    assert_int_equal(dial(scene), -1);
    assert_int_equal(errno, ECONNREFUSED);
}

static void the_node_stops(void **state)
{
    struct scene *scene = *state;
    int fd = viewer(scene, scene->token[0]);
    view_end(scene->view, VIEW_NODE_STOPPING);
    scene->ended = true;
    expect_close(fd, 4005, "the node is stopping");
}

static void the_display_is_lost(void **state)
{
    struct scene *scene = *state;
    int fd = viewer(scene, scene->token[0]);
    shutdown(scene->fakes[0]->fd, SHUT_RDWR);
    expect_close(fd, 4004, "the guest's display is lost");
    int again = viewer(scene, scene->token[0]); /* another one is opened for the next */
    expect_alive(again);
    close(again);
}

static void the_lease_took_the_display(void **state)
{
    struct scene *scene = *state;
    int fd = viewer(scene, scene->token[0]);
    shutdown(scene->fakes[0]->fd, SHUT_RDWR);
    clock_sleep_ms(50);
    view_end(scene->view, VIEW_LEASE_ENDED);
    scene->ended = true;
    expect_close(fd, 4001, "the lease has ended");
}

/* The view's end of a connection, which is in this process too. */
static int other_end(int fd)
{
    struct sockaddr_in mine, its;
    socklen_t length = sizeof mine;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&mine, &length), 0);
    for (int other = 0; other < 1024; other++) {
        length = sizeof its;
        if (getpeername(other, (struct sockaddr *)&its, &length) == 0 && its.sin_family == AF_INET &&
            its.sin_port == mine.sin_port)
            return other;
    }
    return -1;
}

static int viewers_of(const struct scene *scene)
{
    char answer[4096];
    int fd = dial(scene);
    assert_true(fd >= 0);
    assert_int_equal(ask(fd, "GET /status", scene->token[0], "Connection: close\r\n"), 200);
    ssize_t got = recv(fd, answer, sizeof answer - 1, MSG_WAITALL);
    assert_true(got > 0);
    answer[got] = '\0';
    close(fd);
    const char *viewers = strstr(answer, "\"viewers\":");
    return viewers ? atoi(viewers + strlen("\"viewers\":")) : -1;
}

/* One that has not even read that it is let in keeps the end from nobody: it took a minute. */
static void the_end_waits_for_no_handshake(void **state)
{
    struct scene *scene = *state;
    static const char junk[65536];
    char request[512];
    int fd = dial(scene);
    assert_int_equal(ask(fd, "GET /status", scene->token[0], ""), 200);
    int theirs = other_end(fd);
    for (int idle = 0; idle < 10; clock_sleep_ms(10)) /* what the kernel passes on makes room for more */
        idle = send(theirs, junk, sizeof junk, MSG_DONTWAIT | MSG_NOSIGNAL) > 0 ? 0 : idle + 1;
    int length =
        snprintf(request, sizeof request,
                 "GET /websockify HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n" UPGRADE "\r\n",
                 scene->token[0]);
    assert_int_equal(send(fd, request, (size_t)length, MSG_NOSIGNAL), length);
    int64_t deadline_ms = clock_deadline(PATIENCE_S * 1000);
    while (viewers_of(scene) != 1)
        assert_true(clock_left_ms(deadline_ms) > 0);
    int64_t begun_ms = clock_monotonic_ms();
    view_end(scene->view, VIEW_LEASE_ENDED);
    scene->ended = true;
    assert_true(clock_monotonic_ms() - begun_ms < PATIENCE_S * 1000);
    close(fd);
}

/* Also where the host's congestion control paces: web/listener.c has the reason. */
static void a_viewer_is_not_paced(void **state)
{
    struct scene *scene = *state;
    char control[16] = "";
    socklen_t length = sizeof control;
    int fd = viewer(scene, scene->token[0]), other = other_end(fd);
    assert_true(other >= 0);
    assert_int_equal(getsockopt(other, IPPROTO_TCP, TCP_CONGESTION, control, &length), 0);
    assert_string_equal(control, "reno");
    close(fd);
}

static void no_display(void **state)
{
    struct scene *scene = *state;
    char ticket[VIEW_SECRET_SIZE];
    int status;
    view_ticket(scene->view, VIEW_CONTROL, scene->grant[0].id, ticket);
    scene->no_display = true;
    for (int i = 0; i < 2 * VIEW_VIEWERS_MAX; i++) { /* a place that was not used is given back */
        close(join(scene, ticket, &status));
        assert_int_equal(status, 503);
    }
    scene->no_display = false;
    int fd = viewer(scene, ticket); /* and so is the ticket */
    expect_alive(fd);
    close(fd);
}

/* What the viewer held is released on its own connection, in an order that makes sense. */
static void what_it_held_is_released(void **state)
{
    struct scene *scene = *state;
    /* masked with zeroes: version, security, init, Ctrl down, `a` down and up, Shift down, the button */
    static const uint8_t hello[] = "\x82\x8e\0\0\0\0RFB 003.008\n\1\1"
                                   "\x82\xb0\0\0\0\0"
                                   "\xff\0\0\1\0\0\0\0\0\0\0\x1d"
                                   "\xff\0\0\1\0\0\0\0\0\0\0\x1e"
                                   "\xff\0\0\0\0\0\0\0\0\0\0\x1e"
                                   "\xff\0\0\1\0\0\0\0\0\0\0\x2a"
                                   "\x82\x86\0\0\0\0\5\4\0\x0a\0\x14";
    int fd = viewer(scene, scene->token[0]);
    assert_int_equal(send(fd, hello, sizeof hello - 1, MSG_NOSIGNAL), sizeof hello - 1);
    struct fake *fake = scene->fakes[0];
    size_t count = 0;
    for (int64_t deadline_ms = clock_deadline(5000); count < 5 && clock_left_ms(deadline_ms) > 0;) {
        clock_sleep_ms(5);
        LOCK_SCOPE(&fake->mutex);
        count = fake->event_count;
    }
    assert_int_equal(count, 5);
    close(fd);
    view_end(scene->view, VIEW_LEASE_ENDED);
    scene->ended = true;
    LOCK_SCOPE(&fake->mutex);
    const struct fake_event *events = fake->events;
    assert_int_equal(fake->event_count, 8);
    assert_true(events[5].kind == 'k' && events[5].code == 0x2a && !events[5].down);
    assert_true(events[6].kind == 'k' && events[6].code == 0x1d && !events[6].down);
    assert_true(events[7].kind == 'p' && events[7].mask == 0 && events[7].x == 10 && events[7].y == 20);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(revocation, begin, finish),
        cmocka_unit_test_setup_teardown(the_end_of_the_lease, begin, finish),
        cmocka_unit_test_setup_teardown(the_node_stops, begin, finish),
        cmocka_unit_test_setup_teardown(the_display_is_lost, begin, finish),
        cmocka_unit_test_setup_teardown(the_lease_took_the_display, begin, finish),
        cmocka_unit_test_setup_teardown(the_end_waits_for_no_handshake, begin, finish),
        cmocka_unit_test_setup_teardown(a_viewer_is_not_paced, begin, finish),
        cmocka_unit_test_setup_teardown(no_display, begin, finish),
        cmocka_unit_test_setup_teardown(what_it_held_is_released, begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
