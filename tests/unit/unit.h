/*
 * What every unit test includes first: what cmocka.h needs before it, and what is undone when a test ends.
 *
 * An assert that fails leaves its function by longjmp(): nothing behind it runs, CLEANUP attributes neither.
 * So whoever makes a file, a thread or a server says at once how it goes, with at_end(), and the test is in
 * the table as UNIT_TEST(its_name). What a thread writes to lies on the heap (unit_room), not in the frame
 * that is gone by then.
 */
#ifndef BERTHOS_TESTS_UNIT_H
#define BERTHOS_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct unit_undo {
    void (*undo)(void *what);
    void *what;
};

static struct unit_undo unit_undos[2048];
static size_t unit_undo_count;

/* undo(what) when the test ends, however it ends; the latest first. Only from the test's own thread. */
static inline void at_end(void (*undo)(void *what), void *what)
{
    if (unit_undo_count == sizeof unit_undos / sizeof *unit_undos)
        abort();
    unit_undos[unit_undo_count++] = (struct unit_undo){undo, what};
}

/* Undoes the latest of `what` now, and not again at the end. */
static inline void end_now(void *what)
{
    size_t i = unit_undo_count;
    while (i > 0 && unit_undos[i - 1].what != what)
        i--;
    if (i == 0)
        abort();
    struct unit_undo undo = unit_undos[i - 1];
    memmove(&unit_undos[i - 1], &unit_undos[i], (unit_undo_count-- - i) * sizeof undo);
    undo.undo(undo.what);
}

/* Zeroed memory until the test ends. */
static inline void *unit_room(size_t size)
{
    void *room = calloc(1, size);
    if (!room)
        abort();
    at_end(free, room);
    return room;
}

static inline char *unit_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(unit_room(size), text, size);
}

/* For at_end(): a file goes. */
static inline void unit_remove(void *path)
{
    unlink(path);
}

/* Undoes all: a teardown. */
static inline int unit_end(void **state)
{
    (void)state;
    while (unit_undo_count > 0) {
        struct unit_undo undo = unit_undos[--unit_undo_count];
        undo.undo(undo.what);
    }
    return 0;
}

/* A test that may say at_end(), for the table of main(). */
#define UNIT_TEST(test) cmocka_unit_test_setup_teardown(test, NULL, unit_end)

#endif
