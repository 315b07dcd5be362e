/* What goes from QEMU to a viewer, over real sockets: whole frames, whatever the peer takes at a time. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "view/pour.h"

enum { SMALL_BUFFER = 4096, LARGE = 1 << 20, BOUND = 1 << 20 };

struct scene {
    struct pour pour;
    int qemu, display; /* QEMU's end; ours */
    int socket, peer;  /* ours, non-blocking; the viewer's */
};

/* Two ends of a TCP connection that holds little, as a viewer's has to be one. */
static void connect_tcp(int *ours, int *theirs)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int small = SMALL_BUFFER, listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 1), 0);
    getsockname(listener, (struct sockaddr *)&address, &length);
    *theirs = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(*theirs, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    assert_int_equal(connect(*theirs, (struct sockaddr *)&address, length), 0);
    *ours = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    setsockopt(*ours, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    close(listener);
}

static int begin(void **state)
{
    struct error err = ERROR_INIT;
    struct scene *scene = calloc(1, sizeof *scene);
    int ends[2];
    *state = scene;
    signal(SIGPIPE, SIG_IGN); /* as the node does */
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || pour_open(&scene->pour, &err) < 0)
        return -1;
    scene->qemu = ends[0];
    scene->display = ends[1];
    fcntl(scene->qemu, F_SETFL, O_NONBLOCK);
    connect_tcp(&scene->socket, &scene->peer);
    return 0;
}

static int finish(void **state)
{
    struct scene *scene = *state;
    pour_free(&scene->pour);
    int all[] = {scene->qemu, scene->display, scene->socket, scene->peer};
    for (size_t i = 0; i < 4; i++)
        if (all[i] >= 0)
            close(all[i]);
    free(scene);
    return 0;
}

static uint8_t pattern(size_t at)
{
    return (uint8_t)(at * 31 + (at >> 8) * 7 + (at >> 16));
}

/* Sends the frame under way to its end, and returns all that the peer got of it. *Owned*. */
static uint8_t *drain(struct scene *scene, size_t size)
{
    uint8_t *got = malloc(size);
    for (size_t have = 0; have < size || !pour_idle(&scene->pour);) {
        assert_true(pour_send(&scene->pour, scene->socket) >= 0);
        ssize_t part = recv(scene->peer, got + have, size - have, have < size ? 0 : MSG_DONTWAIT);
        if (have < size)
            assert_true(part > 0);
        have += part > 0 ? (size_t)part : 0;
    }
    assert_int_equal(recv(scene->peer, &(char){0}, 1, MSG_DONTWAIT), -1); /* and nothing beside it */
    return got;
}

/* A frame of this payload, then the peer has it byte by byte as QEMU said it. */
static void expect_frame(struct scene *scene, size_t from, size_t size)
{
    uint8_t header[FRAMES_HEADER_MAX];
    size_t length = frames_header(header, FRAME_BINARY, size);
    uint8_t *got = drain(scene, length + size);
    assert_memory_equal(got, header, length);
    for (size_t i = 0; i < size; i++)
        if (got[length + i] != pattern(from + i))
            fail_msg("byte %zu of a frame of %zu is wrong", i, size);
    free(got);
}

static void say(struct scene *scene, size_t from, size_t size)
{
    uint8_t *bytes = malloc(size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = pattern(from + i);
    assert_int_equal(send(scene->qemu, bytes, size, 0), size);
    free(bytes);
}

static void one_frame_for_what_was_said(void **state)
{
    static const size_t sizes[] = {1, 125, 126, 4096, 65535, 65536, 150000};
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        say(scene, 0, sizes[i]);
        assert_int_equal(pour_take(&scene->pour, scene->display), POUR_SOME);
        assert_false(pour_idle(&scene->pour));
        expect_frame(scene, 0, sizes[i]);
        assert_int_equal(pour_take(&scene->pour, scene->display), POUR_NOTHING);
        assert_true(pour_idle(&scene->pour));
    }
}

/* Three writes that wait together are one frame, in their order. */
static void what_waits_goes_together(void **state)
{
    struct scene *scene = *state;
    say(scene, 0, 100);
    say(scene, 100, 40000);
    say(scene, 40100, 7);
    assert_int_equal(pour_take(&scene->pour, scene->display), POUR_SOME);
    expect_frame(scene, 0, 40107);
}

/* How long a payload the frame has of which the peer has read nothing yet: one that needs 8 bytes to say so,
 * or 2.
 */
static size_t announced(struct scene *scene)
{
    uint8_t header[FRAMES_HEADER_MAX];
    size_t size = 0;
    assert_true(pour_send(&scene->pour, scene->socket) >= (ssize_t)sizeof header);
    assert_int_equal(recv(scene->peer, header, sizeof header, MSG_PEEK | MSG_WAITALL), sizeof header);
    assert_true(header[1] >= 126);
    for (int i = 0; i < (header[1] == 127 ? 8 : 2); i++)
        size = size << 8 | header[2 + i];
    return size;
}

/* A megabyte through a peer that takes little at a time: nothing is lost, doubled or out of order. */
static void much_for_a_small_peer(void **state)
{
    struct scene *scene = *state;
    for (size_t said = 0, poured = 0; poured < LARGE;) {
        uint8_t block[8192];
        for (size_t i = 0; i < sizeof block; i++)
            block[i] = pattern(said + i);
        ssize_t sent = said < LARGE ? send(scene->qemu, block, sizeof block, 0) : 0;
        said += sent > 0 ? (size_t)sent : 0;
        if (sent > 0 && said < LARGE)
            continue;
        assert_int_equal(pour_take(&scene->pour, scene->display), POUR_SOME);
        size_t payload = announced(scene);
        expect_frame(scene, poured, payload);
        poured += payload;
    }
}

/* The peer reads nothing: what is held is bounded, QEMU is held back, and nothing is lost of it. */
static void a_peer_that_reads_nothing(void **state)
{
    struct scene *scene = *state;
    static const uint8_t block[4096];
    size_t written = 0;
    for (int idle_rounds = 0; idle_rounds < 3; idle_rounds++) {
        for (ssize_t sent; (sent = send(scene->qemu, block, sizeof block, 0)) > 0; written += (size_t)sent)
            idle_rounds = 0;
        assert_int_equal(errno, EAGAIN);
        assert_true(pour_send(&scene->pour, scene->socket) >= 0);
        if (pour_idle(&scene->pour))
            assert_int_equal(pour_take(&scene->pour, scene->display), POUR_SOME);
        assert_true(written < BOUND);
    }
    assert_false(pour_idle(&scene->pour));
    assert_int_equal(pour_send(&scene->pour, scene->socket), 0);
}

static void control_frames(void **state)
{
    struct scene *scene = *state;
    uint8_t said[FRAMES_CONTROL_MAX], frame[2 + FRAMES_CONTROL_MAX];
    memset(said, 'x', sizeof said);
    pour_control(&scene->pour, FRAME_PONG, said, sizeof said);
    uint8_t *got = drain(scene, 2 + sizeof said);
    assert_int_equal(got[0], 0x8a);
    assert_int_equal(got[1], sizeof said);
    assert_memory_equal(got + 2, said, sizeof said);
    free(got);
    pour_control(&scene->pour, FRAME_PING, said, 0);
    got = drain(scene, 2);
    assert_memory_equal(got, "\x89\0", 2);
    free(got);
    pour_goodbye(&scene->pour, CLOSE_SLOW, "too slow");
    size_t size = frames_close(frame, CLOSE_SLOW, "too slow");
    got = drain(scene, size);
    assert_memory_equal(got, frame, size);
    free(got);
}

static void qemu_ends(void **state)
{
    struct scene *scene = *state;
    say(scene, 0, 10);
    close(scene->qemu);
    scene->qemu = -1;
    assert_int_equal(pour_take(&scene->pour, scene->display), POUR_SOME);
    expect_frame(scene, 0, 10);
    assert_int_equal(pour_take(&scene->pour, scene->display), POUR_ENDED);
    assert_true(pour_idle(&scene->pour));
}

static void the_peer_ends(void **state)
{
    struct scene *scene = *state;
    struct linger at_once = {.l_onoff = 1};
    say(scene, 0, 100000);
    assert_int_equal(pour_take(&scene->pour, scene->display), POUR_SOME);
    setsockopt(scene->peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(scene->peer);
    scene->peer = -1;
    assert_int_equal(pour_send(&scene->pour, scene->socket), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_frame_for_what_was_said, begin, finish),
        cmocka_unit_test_setup_teardown(what_waits_goes_together, begin, finish),
        cmocka_unit_test_setup_teardown(much_for_a_small_peer, begin, finish),
        cmocka_unit_test_setup_teardown(a_peer_that_reads_nothing, begin, finish),
        cmocka_unit_test_setup_teardown(control_frames, begin, finish),
        cmocka_unit_test_setup_teardown(qemu_ends, begin, finish),
        cmocka_unit_test_setup_teardown(the_peer_ends, begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
