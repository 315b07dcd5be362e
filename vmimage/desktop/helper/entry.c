#include "entry.h"

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

int64_t entry_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

const char *entry_take(struct entry *entry, size_t *size)
{
    const char *text = entry->waiting;
    *size = entry->waiting_size;
    entry->taken |= text != NULL;
    entry->waiting = NULL;
    return text;
}

void entry_event(struct entry *entry, const xcb_generic_event_t *event)
{
    entry->answered |= focus_is_answer(&entry->focus, event);
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

static void wait_until(struct entry *entry, int64_t until_ms, bool for_answer)
{
    while (entry_now_ms() < until_ms && !entry->stopped && !entry->taken && !(for_answer && entry->answered))
        entry->serve(entry->context, until_ms);
}

/* Presses the trigger and waits for the program to take the text or to come past it without. */
static void offer_once(struct entry *entry, xcb_window_t window)
{
    entry->answered = false;
    keyboard_tap(&entry->keyboard, HELPER_TRIGGER_KEYSYM);
    bool pinged = focus_ping(&entry->focus, window);
    wait_until(entry, entry_now_ms() + (pinged ? ANSWER_MS : SILENT_MS), true);
    if (!entry->taken && !entry->answered)
        entry->deaf = window;
}

/* Offers a run to the program that has the focus until it takes it or there is no hope left. */
static bool offer(struct entry *entry, const char *text, size_t size, int hope_ms)
{
    int64_t give_up_ms = entry_now_ms() + hope_ms;
    entry->waiting = text;
    entry->waiting_size = size;
    entry->taken = false;
    int offers = 0;
    for (int again_ms = AGAIN_MS;; again_ms = again_ms < AGAIN_MS_MAX / 2 ? 2 * again_ms : AGAIN_MS_MAX) {
        xcb_window_t window = focus_window(&entry->focus);
        if (window != XCB_NONE && window != entry->deaf)
            offer_once(entry, window);
        offers++;
        bool hope =
            entry_now_ms() < give_up_ms || (hope_ms > 0 && offers < OFFERS_LEAST && window != entry->deaf);
        if (entry->taken || entry->stopped || !hope)
            break;
        wait_until(entry, entry_now_ms() + again_ms, false);
    }
    entry->waiting = NULL;
    return entry->taken;
}

void entry_focus_moved(struct entry *entry)
{
    entry->moved_ms = entry_now_ms();
}

/* Behind a Tab: until the focus has moved, or for a while that shrinks when it does not. */
static void wait_for_move(struct entry *entry)
{
    int64_t now_ms = entry_now_ms(), give_up_ms = now_ms + entry->move_ms;
    for (; now_ms < give_up_ms && !entry->stopped; now_ms = entry_now_ms()) {
        int64_t quiet_ms = entry->moved_ms ? entry->moved_ms + MOVED_QUIET_MS : give_up_ms;
        if (now_ms >= quiet_ms)
            return;
        entry->serve(entry->context, quiet_ms);
    }
    if (entry->moved_ms == 0)
        entry->move_ms /= 2;
}

/* Return or Tab, either of which may move the focus. */
static size_t press(struct entry *entry, char character, bool ascii)
{
    entry->hope_ms = ascii ? ASCII_HOPE_MS : TEXT_HOPE_MS;
    entry->moved_ms = 0;
    if (!keyboard_tap(&entry->keyboard, character == '\n' ? KEYSYM_RETURN : KEYSYM_TAB))
        return 0;
    if (character == '\t' && !entry->by_method)
        wait_for_move(entry);
    return 1;
}

/* One step: a key, a run, or some keys of a run that nobody takes. Gives the bytes that were entered; 0:
 * none. */
static size_t step(struct entry *entry, const char *text, size_t size)
{
    bool ascii = is_ascii(text, size);
    if (is_key(text[0]))
        return press(entry, text[0], ascii);
    size_t run = run_of(text, size);
    if (offer(entry, text, run, ascii ? entry->hope_ms : TEXT_HOPE_MS))
        return run;
    entry->hope_ms = 0;
    run = run < KEYS_AT_ONCE ? run : KEYS_AT_ONCE;
    return !entry->stopped && ascii && keyboard_enter(&entry->keyboard, text, run) ? run : 0;
}

const char *entry_type(struct entry *entry, const char *text, size_t size, size_t *typed)
{
    *typed = 0;
    entry->stopped = entry->by_method = false;
    entry->deaf = XCB_NONE;
    entry->hope_ms = is_ascii(text, size) ? ASCII_HOPE_MS : TEXT_HOPE_MS;
    entry->move_ms = MOVE_MS;
    if (!keyboard_read(&entry->keyboard))
        return "the X server does not answer";
    focus_listen(&entry->focus, true);
    keyboard_lift_modifiers(&entry->keyboard);
    size_t at = 0, done = 1;
    while (at < size && done > 0 && !entry->stopped) {
        done = step(entry, text + at, size - at);
        *typed += characters_of(text + at, done);
        at += done;
    }
    focus_listen(&entry->focus, false);
    if (!keyboard_sync(&entry->keyboard))
        return "the X server does not answer";
    if (at == size)
        return NULL;
    return entry->stopped ? "released" : HELPER_NO_FIELD;
}
