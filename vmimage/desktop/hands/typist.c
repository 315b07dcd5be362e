#include "typist.h"

#include <time.h>

#include "wire.h"

enum {
    RUN_BYTES = 8192,
    KEYS_AT_ONCE = 32, /* by keys; then the input method is tried again */
    ANSWER_MS =
        20000,        /* for a program that answers pings to come to the end of its events, on a busy guest */
    SILENT_MS = 3000, /* for one that does not */
    OFFERS_LEAST = 4, /* of a run, where there is hope: on a busy guest one takes seconds */
    AGAIN_MS = 30,    /* between two triggers, at first; then more and more: a page may see the key */
    AGAIN_MS_MAX = 400,
    ASCII_HOPE_MS = 250, /* for a field to get the focus, where keys would do too */
    TEXT_HOPE_MS = 2500, /* and where they would not */
    MOVE_MS = 600,       /* for the word that a Tab has moved the focus */
    MOVED_QUIET_MS = 40, /* and after the last such word: Chromium says it in two or three steps */
};

int64_t typist_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

const char *typist_take(struct typist *typist, size_t *size)
{
    const char *text = typist->waiting;
    *size = typist->waiting_size;
    typist->taken |= text != NULL;
    typist->waiting = NULL;
    return text;
}

void typist_event(struct typist *typist, const xcb_generic_event_t *event)
{
    typist->answered |= focus_is_answer(&typist->focus, event);
}

static bool is_key(char character)
{
    return character == '\n' || character == '\t';
}

/* The length of the next run: whole characters, no newline or tab. */
static size_t run_of(const char *text, size_t size)
{
    size_t length = 0;
    while (length < size && length < RUN_BYTES && !is_key(text[length]))
        length++;
    while (length < size && length > 1 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

static size_t characters_of(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static bool is_ascii(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] >= 0x80)
            return false;
    return true;
}

static void wait_until(struct typist *typist, int64_t until_ms, bool for_answer)
{
    while (typist_now_ms() < until_ms && !typist->stopped && !typist->taken &&
           !(for_answer && typist->answered))
        typist->serve(typist->context, until_ms);
}

/* Presses the trigger and waits for the program to take the text or to come past it without. */
static void offer_once(struct typist *typist, xcb_window_t window)
{
    typist->answered = false;
    keyboard_tap(&typist->keyboard, HANDS_TRIGGER_KEYSYM);
    bool pinged = focus_ping(&typist->focus, window);
    wait_until(typist, typist_now_ms() + (pinged ? ANSWER_MS : SILENT_MS), true);
    if (!typist->taken && !typist->answered)
        typist->deaf = window;
}

/* Offers a run to the program that has the focus until it takes it or there is no hope left. */
static bool offer(struct typist *typist, const char *text, size_t size, int hope_ms)
{
    int64_t give_up_ms = typist_now_ms() + hope_ms;
    typist->waiting = text;
    typist->waiting_size = size;
    typist->taken = false;
    int offers = 0;
    for (int again_ms = AGAIN_MS;; again_ms = again_ms < AGAIN_MS_MAX / 2 ? 2 * again_ms : AGAIN_MS_MAX) {
        xcb_window_t window = focus_window(&typist->focus);
        if (window != XCB_NONE && window != typist->deaf)
            offer_once(typist, window);
        offers++;
        bool hope =
            typist_now_ms() < give_up_ms || (hope_ms > 0 && offers < OFFERS_LEAST && window != typist->deaf);
        if (typist->taken || typist->stopped || !hope)
            break;
        wait_until(typist, typist_now_ms() + again_ms, false);
    }
    typist->waiting = NULL;
    return typist->taken;
}

void typist_focus_moved(struct typist *typist)
{
    typist->moved_ms = typist_now_ms();
}

/* Behind a Tab: until the focus has moved, or for a while that shrinks when it does not. */
static void wait_for_move(struct typist *typist)
{
    int64_t now_ms = typist_now_ms(), give_up_ms = now_ms + typist->move_ms;
    for (; now_ms < give_up_ms && !typist->stopped; now_ms = typist_now_ms()) {
        int64_t quiet_ms = typist->moved_ms ? typist->moved_ms + MOVED_QUIET_MS : give_up_ms;
        if (now_ms >= quiet_ms)
            return;
        typist->serve(typist->context, quiet_ms);
    }
    if (typist->moved_ms == 0)
        typist->move_ms /= 2;
}

/* Return or Tab, either of which may move the focus. */
static size_t press(struct typist *typist, char character, bool ascii)
{
    typist->hope_ms = ascii ? ASCII_HOPE_MS : TEXT_HOPE_MS;
    typist->moved_ms = 0;
    if (!keyboard_tap(&typist->keyboard, character == '\n' ? KEYSYM_RETURN : KEYSYM_TAB))
        return 0;
    if (character == '\t' && !typist->by_method)
        wait_for_move(typist);
    return 1;
}

/* One step: a key, a run, or some keys of a run that nobody takes. Gives the bytes that were entered; 0:
 * none. */
static size_t step(struct typist *typist, const char *text, size_t size)
{
    bool ascii = is_ascii(text, size);
    if (is_key(text[0]))
        return press(typist, text[0], ascii);
    size_t run = run_of(text, size);
    if (offer(typist, text, run, ascii ? typist->hope_ms : TEXT_HOPE_MS))
        return run;
    typist->hope_ms = 0;
    run = run < KEYS_AT_ONCE ? run : KEYS_AT_ONCE;
    return !typist->stopped && ascii && keyboard_enter(&typist->keyboard, text, run) ? run : 0;
}

const char *typist_enter(struct typist *typist, const char *text, size_t size, size_t *typed)
{
    *typed = 0;
    typist->stopped = typist->by_method = false;
    typist->deaf = XCB_NONE;
    typist->hope_ms = is_ascii(text, size) ? ASCII_HOPE_MS : TEXT_HOPE_MS;
    typist->move_ms = MOVE_MS;
    if (!keyboard_read(&typist->keyboard))
        return "the X server does not answer";
    focus_listen(&typist->focus, true);
    keyboard_lift_modifiers(&typist->keyboard);
    size_t at = 0, done = 1;
    while (at < size && done > 0 && !typist->stopped) {
        done = step(typist, text + at, size - at);
        *typed += characters_of(text + at, done);
        at += done;
    }
    focus_listen(&typist->focus, false);
    if (!keyboard_sync(&typist->keyboard))
        return "the X server does not answer";
    if (at == size)
        return NULL;
    return typist->stopped ? "released" : HANDS_NO_FIELD;
}
