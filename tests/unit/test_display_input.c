/* The input of a display session against a server that behaves as QEMU's. CASES.md 1, 3, 4, 6, 8. */
#include "unit.h"

#include <stdio.h>
#include <sys/socket.h>

#include "display_fixture.h"

static void types_every_character(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    char text[98], got[200];
    for (int i = 0; i < 95; i++)
        text[i] = (char)(' ' + i);
    memcpy(text + 95, "\n\t", 3);
    json_t *document = json_pack("{s:s, s:s}", "op", "type", "text", text);
    char *line = json_dumps(document, 0);
    int64_t began = clock_monotonic_ms();
    perform_good(display, line);
    int64_t took = clock_monotonic_ms() - began;
    size_t length = read_typed(fake, got, sizeof got);
    assert_int_equal(length, 97);
    assert_memory_equal(got, text, 97);
    /* Done only when QEMU's queue, ten milliseconds an event, is empty; and never far ahead of it. */
    assert_true(took >= ((int64_t)fake->event_count - 1) * 10);
    for (size_t i = 100; i < fake->event_count; i++)
        assert_true(fake->events[i].time_us - fake->events[i - 100].time_us > 400000);
    assert_released(fake);
    free(line);
    json_decref(document);
}

static void clicks_move_first(void **state)
{
    (void)state;
    struct fake *fake = start_fake(1280, 800, FAKE_FINE);
    struct display *display = open_good(fake);
    const int corners[][2] = {{0, 0}, {1279, 0}, {0, 799}, {1279, 799}};
    for (int i = 0; i < 4; i++) {
        char line[80];
        snprintf(line, sizeof line, "{\"op\":\"click\",\"x\":%d,\"y\":%d}", corners[i][0], corners[i][1]);
        size_t before = events_of(fake);
        perform_good(display, line);
        assert_int_equal(events_of(fake), before + 3);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(fake->events[before + k].x, corners[i][0]);
            assert_int_equal(fake->events[before + k].y, corners[i][1]);
            assert_int_equal(fake->events[before + k].mask, k == 1);
        }
    }
    struct error err = ERROR_INIT;
    struct display_outcome outcome;
    size_t before = events_of(fake);
    assert_int_equal(perform(display, "{\"op\":\"click\",\"x\":1280,\"y\":0}", &outcome, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    assert_int_equal(perform(display, "{\"op\":\"drag\",\"path\":[[0,0],[0,800]]}", &outcome, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    assert_int_equal(events_of(fake), before);
    assert_int_equal(outcome.pointer_x, 1279);
}

/* The pixel that a guest computes from QEMU's 15 bits, rounded, is the one that was asked for. */
static void every_column_is_reached(void **state)
{
    (void)state;
    struct fake *fake = start_fake(1366, 64, FAKE_FINE);
    struct display *display = open_good(fake);
    struct action *moves = calloc(1366, sizeof *moves);
    for (int x = 0; x < 1366; x++)
        moves[x] = (struct action){.kind = ACTION_MOVE, .op = "move", .has_point = true, .point = {x, 1}};
    struct error err = ERROR_INIT;
    struct display_outcome outcome;
    assert_int_equal(display_perform(display, &(struct display_request){moves, 1366, 0, 0}, NULL,
                                     clock_deadline(60000), &outcome, &err),
                     0);
    assert_int_equal(outcome.done, 1366);
    assert_int_equal(fake->event_count, 1366);
    for (int x = 0; x < 1366; x++) {
        int bits = fake->events[x].x * 32767 / 1376;
        assert_int_equal((int)((double)bits * 1366 / 32768 + 0.5), x);
    }
    free(moves);
}

static void nothing_stays_down(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    struct error err = ERROR_INIT;
    struct display_outcome outcome;

    /* A hold whose time is cut off by a deadline. */
    const struct action hold = {.kind = ACTION_HOLD_KEY,
                                .op = "hold_key",
                                .keys = &(struct key_chord){.modifiers = MODIFIER_CTRL, .key = KEY_A},
                                .key_count = 1,
                                .duration_ms = 60000};
    assert_int_equal(display_perform(display, &(struct display_request){&hold, 1, 0, 0}, NULL,
                                     clock_deadline(200), &outcome, &err),
                     -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    assert_int_equal(outcome.done, 0);
    perform_good(display, "{\"op\":\"move\",\"x\":1,\"y\":1}"); /* the releases have arrived before this */
    assert_released(fake);

    /* A failure releases the button of an earlier action too. */
    perform_good(display, "{\"op\":\"mouse_down\",\"x\":5,\"y\":6}");
    assert_int_equal(fake->events[events_of(fake) - 1].mask, 1);
    assert_int_equal(perform(display, "{\"op\":\"move\",\"x\":5000,\"y\":6}", &outcome, &err), -1);
    perform_good(display, "{\"op\":\"move\",\"x\":7,\"y\":6}");
    assert_released(fake);

    /* The end of the session, in the middle of a hold and with a button down. */
    perform_good(display, "{\"op\":\"mouse_down\",\"button\":\"right\"}");
    struct waiter *waiter = start_waiter(
        display, "{\"op\":\"hold_key\",\"keys\":[\"shift\",\"b\"],\"duration_ms\":60000}", false);
    clock_sleep_ms(150);
    display_shutdown(display);
    join_waiter(waiter);
    assert_int_equal(waiter->err.code, ERROR_NOT_FOUND);
    end_now(display);
    assert_released(fake);
}

static void a_close_releases_buttons(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    perform_good(display, "{\"op\":\"mouse_down\",\"x\":5,\"y\":6,\"button\":\"middle\"}");
    end_now(display);
    assert_int_equal(fake->events[fake->event_count - 1].mask, 0);
    assert_int_equal(fake->events[fake->event_count - 1].x, 5);
}

/* Two callers: their actions do not mix, and looking goes on meanwhile. */
static void actions_take_turns(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    const char *actions[] = {"{\"op\":\"type\",\"text\":\"aaaaaaaaaaaaaaaaaaaa\"}",
                             "{\"op\":\"type\",\"text\":\"bbbbbbbbbbbbbbbbbbbb\"}",
                             "{\"op\":\"click\",\"x\":3,\"y\":4}"};
    struct waiter *waiters[3];
    for (int i = 0; i < 3; i++) {
        waiters[i] = start_waiter(display, actions[i], false);
        clock_sleep_ms(20);
    }
    FAKE_SET(fake, seed, 9);
    clock_sleep_ms(70);
    struct frame *frame = capture_good(display);
    assert_shows(frame, 9, WIDTH, HEIGHT);
    frame_release(frame);
    assert_true(events_of(fake) < 80); /* they were still at it */
    for (int i = 0; i < 3; i++) {
        join_waiter(waiters[i]);
        assert_int_equal(waiters[i]->result, 0);
    }
    char text[100];
    assert_int_equal(read_typed(fake, text, sizeof text), 40);
    assert_memory_equal(text, "aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb", 40);
    assert_int_equal(fake->event_count, 83);
    for (size_t i = 0; i < 83; i++)
        assert_int_equal(fake->events[i].kind, i < 80 ? 'k' : 'p');
}

/* --- the guest's agent and helper, as the input sees them --------------------------------------------- */

struct fake_guest {
    struct fake *fake;
    bool dead;        /* the agent answers nothing */
    size_t confirms;  /* how often it was asked */
    size_t confirmed; /* events that had arrived when it was last asked and has answered */
    size_t most;      /* events that arrived between two answers, at most */
    size_t clicks, notches;
    char text[20000]; /* what the helper was told to type */
    size_t text_size;
    size_t give_up_after; /* characters; then it waits to be cancelled */
};

static int fake_confirm(void *context, int64_t deadline_ms, struct error *err)
{
    struct fake_guest *guest = context;
    size_t arrived = events_of(guest->fake);
    guest->confirms++;
    if (guest->dead) {
        clock_sleep_ms(clock_left_ms(deadline_ms));
        return error_set(err, ERROR_GUEST_FAILED, "it is silent");
    }
    clock_sleep_ms(15);
    size_t now = events_of(guest->fake);
    guest->most = now - guest->confirmed > guest->most ? now - guest->confirmed : guest->most;
    guest->confirmed = arrived;
    return 0;
}

static int fake_type(void *context, const char *text, size_t size, const struct cancel *cancel,
                     int64_t deadline_ms, size_t *typed, struct error *err)
{
    struct fake_guest *guest = context;
    assert_true(size < sizeof guest->text);
    memcpy(guest->text, text, size);
    guest->text_size = size;
    while (guest->give_up_after && !cancel_fired(cancel) && clock_left_ms(deadline_ms) > 0)
        clock_sleep_ms(5);
    *typed = guest->give_up_after;
    return guest->give_up_after ? error_set(err, ERROR_TIMEOUT, "the helper was stopped") : 0;
}

static int fake_click(void *context, struct action_point at, enum action_button button, int count,
                      int64_t deadline_ms, struct error *err)
{
    struct fake_guest *guest = context;
    (void)deadline_ms, (void)err;
    assert_int_equal(at.x, 5);
    assert_int_equal(button, BUTTON_BACK);
    guest->clicks += (size_t)count;
    return 0;
}

static int fake_scroll(void *context, struct action_point at, int32_t dx, int64_t deadline_ms,
                       struct error *err)
{
    struct fake_guest *guest = context;
    (void)deadline_ms, (void)err;
    assert_int_equal(at.y, 6);
    guest->notches += (size_t)dx;
    return 0;
}

static struct display *open_guest(struct fake_guest *guest, struct holds *holds)
{
    struct display_helper helper = {guest, fake_confirm, fake_type, fake_click, fake_scroll};
    guest->fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    return open_helped(guest->fake, &helper, holds);
}

static void free_holds(void *holds)
{
    holds_free(holds);
}

static struct holds *make_holds(void)
{
    struct holds *holds = holds_new();
    at_end(free_holds, holds);
    return holds;
}

static char *type_action(char character, size_t length)
{
    char *line = unit_room(length + 64);
    int size = sprintf(line, "{\"op\":\"type\",\"via\":\"keys\",\"text\":\"");
    memset(line + size, character, length);
    memcpy(line + size + length, "\"}", 3);
    return line;
}

/* The ring of a guest's keyboard holds 32 events: no more than 26 are under way that the agent has not
 * proven. */
static void keys_are_proven(void **state)
{
    (void)state;
    struct fake_guest *guest = unit_room(sizeof *guest);
    struct display *display = open_guest(guest, NULL);
    char *line = type_action('x', 200), text[300];
    perform_good(display, line);
    assert_int_equal(read_typed(guest->fake, text, sizeof text), 200);
    assert_in_range(guest->confirms, 15, 60);
    assert_in_range(guest->most, 4, 26);

    /* A few keys alone need no proof; a click after them does. */
    perform_good(display, "{\"op\":\"move\",\"x\":1,\"y\":1}");
    perform_good(display, "{\"op\":\"key\",\"keys\":\"a\"}");
    size_t before = guest->confirms;
    perform_good(display, "{\"op\":\"key\",\"keys\":\"a\"}");
    assert_int_equal(guest->confirms, before);
    size_t sent = events_of(guest->fake);
    perform_good(display, "{\"op\":\"click\",\"x\":3,\"y\":3}");
    assert_int_equal(guest->confirms, before + 1);
    assert_int_equal(guest->confirmed, sent);
    /* And so do keys after a click. */
    perform_good(display, "{\"op\":\"key\",\"keys\":\"a\"}");
    assert_int_equal(guest->confirms, before + 2);
    assert_int_equal(guest->confirmed, sent + 3);
}

/* 200 pointer messages: the tablet's ring holds 16 of the largest. */
static void pointer_messages_are_proven(void **state)
{
    (void)state;
    struct fake_guest *guest = unit_room(sizeof *guest);
    struct display *display = open_guest(guest, NULL);
    perform_good(display, "{\"op\":\"scroll\",\"x\":1,\"y\":1,\"dy\":100}");
    assert_int_equal(events_of(guest->fake), 201);
    assert_in_range(guest->confirms, 16, 17);
    assert_true(guest->most <= 12);
}

static void a_silent_agent_is_told(void **state)
{
    (void)state;
    struct fake_guest *guest = unit_room(sizeof *guest);
    guest->dead = true;
    struct display *display = open_guest(guest, NULL);
    struct error err = ERROR_INIT;
    struct display_outcome outcome;
    char *line = type_action('x', 100), text[300];
    int64_t began = clock_monotonic_ms();
    assert_int_equal(perform(display, line, &outcome, &err), -1);
    assert_int_equal(err.code, ERROR_GUEST_FAILED);
    assert_in_range(clock_monotonic_ms() - began, 9000, 20000);
    assert_non_null(strstr(err.text, "; 12 of 100 characters were typed"));
    assert_int_equal(read_typed(guest->fake, text, sizeof text), 12);
    assert_released(guest->fake);
}

static void the_helper_takes_what_keys_cannot(void **state)
{
    (void)state;
    struct fake_guest *guest = unit_room(sizeof *guest);
    struct display *display = open_guest(guest, NULL);
    perform_good(display, "{\"op\":\"type\",\"text\":\"abc\"}");
    assert_int_equal(guest->text_size, 0);
    assert_int_equal(events_of(guest->fake), 6);
    perform_good(display, "{\"op\":\"type\",\"text\":\"se\xc3\xb1or\"}");
    assert_memory_equal(guest->text, "se\xc3\xb1or", 6);
    assert_int_equal(guest->confirmed, 6); /* what was typed before has arrived first */
    perform_good(display, "{\"op\":\"type\",\"text\":\"abcdefghijklmnopqrstuvwxyz0123456789\"}");
    assert_int_equal(guest->text_size, 36);
    perform_good(display, "{\"op\":\"click\",\"x\":5,\"y\":6,\"button\":\"back\",\"count\":2}");
    assert_int_equal(guest->clicks, 2);
    perform_good(display, "{\"op\":\"scroll\",\"x\":5,\"y\":6,\"dx\":7}");
    assert_int_equal(guest->notches, 7);
}

/* A guest without a helper: nothing of a request is done when one of its actions cannot be. */
static void what_cannot_be_is_refused_whole(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    const struct action actions[] = {{.kind = ACTION_MOVE, .op = "move", .has_point = true, .point = {1, 1}},
                                     {.kind = ACTION_CLICK,
                                      .op = "click",
                                      .has_point = true,
                                      .button = BUTTON_BACK,
                                      .needs = NEED_BUTTONS}};
    struct error err = ERROR_INIT;
    struct display_outcome outcome;
    assert_int_equal(display_perform(display, &(struct display_request){actions, 2, 0, 0}, NULL,
                                     clock_deadline(5000), &outcome, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNTYPABLE);
    assert_non_null(strstr(err.text, "action 1"));
    assert_int_equal(outcome.done, 0);
    assert_int_equal(perform(display, "{\"op\":\"type\",\"text\":\"abc\xc3\xb1\"}", &outcome, &err), -1);
    assert_int_equal(err.code, ERROR_UNTYPABLE);
    assert_int_equal(events_of(fake), 0);
}

/* --- giving up ---------------------------------------------------------------------------------------- */

/* How many characters the error says were typed. */
static size_t told_typed(const struct error *err)
{
    const char *at = strrchr(err->text, ';');
    assert_non_null(at);
    return (size_t)strtoul(at + 1, NULL, 10);
}

static void a_caller_that_goes_cancels(void **state)
{
    (void)state;
    struct fake_guest *guest = unit_room(sizeof *guest);
    guest->give_up_after = 7;
    struct display *display = open_guest(guest, NULL);
    char *keys = type_action('X', 1000), text[2100];
    const char *actions[] = {keys, "{\"op\":\"hold_key\",\"keys\":[\"ctrl\",\"a\"],\"duration_ms\":60000}",
                             "{\"op\":\"wait\",\"duration_ms\":60000}",
                             "{\"op\":\"wait\",\"until\":\"change\",\"timeout_ms\":60000}",
                             "{\"op\":\"type\",\"text\":\"\xe7\xbe\x8e\"}"};
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        struct waiter *first = start_waiter(display, actions[i], true);
        clock_sleep_ms(300);
        struct waiter *queued = start_waiter(display, actions[2], true);
        clock_sleep_ms(50);
        int64_t now = clock_monotonic_ms();
        cancel_fire(queued->cancel); /* one that waits for its turn, and is not held up by the first */
        join_waiter(queued);
        assert_int_equal(queued->err.code, ERROR_CANCELLED);
        assert_true(queued->ended_ms - now < 1000);
        now = clock_monotonic_ms();
        cancel_fire(first->cancel);
        join_waiter(first);
        assert_int_equal(first->result, -1);
        assert_int_equal(first->err.code, ERROR_CANCELLED);
        assert_true(first->ended_ms - now < 1000);
        if (i == 0)
            assert_int_equal(told_typed(&first->err), read_typed(guest->fake, text, sizeof text));
        if (i == 4)
            assert_int_equal(told_typed(&first->err), 7);
        perform_good(display, "{\"op\":\"move\",\"x\":1,\"y\":1}");
        assert_released(guest->fake);
    }
}

/* QEMU throws away what is sent to a guest that stands: nothing is, and what is held comes up afterwards. */
static void a_paused_guest_gets_nothing(void **state)
{
    (void)state;
    struct fake_guest *guest = unit_room(sizeof *guest);
    struct display *display = open_guest(guest, NULL);
    struct error err = ERROR_INIT;
    struct display_outcome outcome;
    perform_good(display, "{\"op\":\"mouse_down\",\"x\":5,\"y\":6}");
    struct waiter *waiter = start_waiter(
        display, "{\"op\":\"hold_key\",\"keys\":[\"shift\",\"b\"],\"duration_ms\":60000}", false);
    clock_sleep_ms(300);
    size_t before = events_of(guest->fake);
    display_set_paused(display, "the test wants it so");
    join_waiter(waiter);
    assert_int_equal(waiter->err.code, ERROR_PAUSED);
    assert_non_null(strstr(waiter->err.text, "the test wants it so"));
    const char *refused[] = {"{\"op\":\"type\",\"text\":\"a\"}",
                             "{\"op\":\"key\",\"keys\":\"a\"}",
                             "{\"op\":\"click\",\"x\":1,\"y\":1}",
                             "{\"op\":\"move\",\"x\":1,\"y\":1}",
                             "{\"op\":\"scroll\",\"x\":1,\"y\":1,\"dy\":1}",
                             "{\"op\":\"mouse_up\"}"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_int_equal(perform(display, refused[i], &outcome, &err), -1);
        assert_int_equal(err.code, ERROR_PAUSED);
    }
    perform_good(display, "{\"op\":\"wait\",\"duration_ms\":50}");
    perform_good(display, "{\"op\":\"cursor_position\"}");
    frame_release(capture_good(display));
    assert_int_equal(events_of(guest->fake), before);
    display_set_paused(display, NULL);
    perform_good(display, "{\"op\":\"move\",\"x\":7,\"y\":7}");
    assert_released(guest->fake);
}

static void a_changed_screen_is_told(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    struct error err = ERROR_INIT;
    struct display_outcome outcome;
    const struct action actions[] = {{.kind = ACTION_MOVE, .op = "move", .has_point = true, .point = {1, 1}},
                                     {.kind = ACTION_WAIT, .op = "wait", .duration_ms = 400},
                                     {.kind = ACTION_MOVE, .op = "move", .has_point = true, .point = {2, 2}}};
    const struct display_request other = {actions, 3, WIDTH, HEIGHT + 1}, same = {actions, 3, WIDTH, HEIGHT};
    assert_int_equal(display_perform(display, &other, NULL, clock_deadline(5000), &outcome, &err), -1);
    assert_int_equal(err.code, ERROR_FRAME_CHANGED);
    assert_non_null(strstr(err.text, "200x120"));
    assert_non_null(strstr(err.text, "200x121"));
    assert_int_equal(outcome.done, 0);
    assert_int_equal(events_of(fake), 0);
    assert_int_equal(display_perform(display, &same, NULL, clock_deadline(5000), &outcome, &err), 0);
    assert_int_equal(outcome.width, WIDTH);
    assert_true(outcome.ended_ms - outcome.began_ms >= 400);
    assert_int_equal(events_of(fake), 2);

    pthread_mutex_lock(&fake->mutex);
    fake->resize = true; /* told while the batch waits */
    fake->width = 320;
    pthread_mutex_unlock(&fake->mutex);
    struct waiter *waiter = start_waiter(display, "{\"op\":\"wait\",\"duration_ms\":100}", false);
    clock_sleep_ms(30);
    fake_wake(fake);
    join_waiter(waiter);
    assert_int_equal(display_perform(display, &same, NULL, clock_deadline(5000), &outcome, &err), -1);
    assert_int_equal(err.code, ERROR_FRAME_CHANGED);
    assert_int_equal(events_of(fake), 2);
}

/* --- with viewers ------------------------------------------------------------------------------------- */

/* A viewer's Ctrl does not turn a text into shortcuts, and a pointer that it moved is where it left it. */
static void viewers_hold_keys_too(void **state)
{
    (void)state;
    struct holds *holds = make_holds();
    struct holder *viewer = holds_join(holds);
    struct fake_guest *guest = unit_room(sizeof *guest);
    struct display *display = open_guest(guest, holds);
    struct display_outcome outcome;
    struct error err = ERROR_INIT;
    holds_key(viewer, 0x1d, true);
    holds_key(viewer, HOLDS_KEYSYM | 0xffe1, true);
    holds_key(viewer, 0x10, true); /* no modifier */
    perform_good(display, "{\"op\":\"type\",\"text\":\"a\"}");
    assert_int_equal(guest->fake->event_count, 4);
    assert_int_equal(guest->fake->events[0].code, 0x1d);
    assert_int_equal(guest->fake->events[0].down, 0);
    assert_int_equal(guest->fake->events[1].code, 0x2a);
    assert_int_equal(guest->fake->events[1].down, 0);
    assert_int_equal(guest->fake->events[2].code, KEY_A);
    holds_key(viewer, 0x1d, false);
    holds_key(viewer, HOLDS_KEYSYM | 0xffe1, false);

    holds_pointer(viewer, 33, 44, 0);
    assert_int_equal(perform(display, "{\"op\":\"cursor_position\"}", &outcome, &err), 0);
    assert_int_equal(outcome.pointer_x, 33);
    assert_int_equal(outcome.pointer_y, 44);
    perform_good(display, "{\"op\":\"mouse_down\"}");
    assert_in_range(guest->fake->events[4].x, 33, 35); /* by the width that QEMU divides by */
    assert_int_equal(guest->fake->events[4].y, 44);
    assert_int_equal(guest->fake->events[4].mask, 1);
    holds_leave(viewer);
}

/* The end of any connection makes QEMU lift all keys: it waits for a moment when the session has none down.
 */
static void connections_end_between_keys(void **state)
{
    (void)state;
    struct holds *holds = make_holds();
    struct fake_guest *guest = unit_room(sizeof *guest);
    struct display *display = open_guest(guest, holds);
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct waiter *waiter =
        start_waiter(display, "{\"op\":\"hold_key\",\"keys\":[\"shift\"],\"duration_ms\":500}", false);
    clock_sleep_ms(200);
    char byte;
    assert_false(holds_shut(holds, pair[0]));
    assert_int_equal(recv(pair[1], &byte, 1, MSG_DONTWAIT), -1); /* open yet */
    join_waiter(waiter);
    assert_int_equal(waiter->result, 0);
    assert_int_equal(recv(pair[1], &byte, 1, MSG_DONTWAIT), 0);
    close(pair[1]);

    /* In a long text, after at most the capitals that it is at. */
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    char *line = type_action('x', 150);
    waiter = start_waiter(display, line, false);
    clock_sleep_ms(300);
    assert_int_equal(write(pair[0], "!", 1), 1);
    assert_false(holds_shut(holds, pair[0]));
    int64_t began = clock_monotonic_ms();
    assert_int_equal(recv(pair[1], &byte, 1, 0), 1); /* what it had to say is not lost */
    assert_int_equal(recv(pair[1], &byte, 1, 0), 0);
    assert_true(clock_monotonic_ms() - began < 1000);
    join_waiter(waiter);
    assert_int_equal(waiter->result, 0);
    close(pair[1]);

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_true(holds_shut(holds, pair[0])); /* nobody presses anything: at once */
    assert_int_equal(recv(pair[1], &byte, 1, MSG_DONTWAIT), 0);
    close(pair[0]);
    close(pair[1]);
    perform_good(display, "{\"op\":\"key\",\"keys\":\"a\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(types_every_character),
        UNIT_TEST(clicks_move_first),
        UNIT_TEST(every_column_is_reached),
        UNIT_TEST(nothing_stays_down),
        UNIT_TEST(a_close_releases_buttons),
        UNIT_TEST(actions_take_turns),
        UNIT_TEST(keys_are_proven),
        UNIT_TEST(pointer_messages_are_proven),
        UNIT_TEST(a_silent_agent_is_told),
        UNIT_TEST(the_helper_takes_what_keys_cannot),
        UNIT_TEST(what_cannot_be_is_refused_whole),
        UNIT_TEST(a_caller_that_goes_cancels),
        UNIT_TEST(a_paused_guest_gets_nothing),
        UNIT_TEST(a_changed_screen_is_told),
        UNIT_TEST(viewers_hold_keys_too),
        UNIT_TEST(connections_end_between_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
