/* What of a viewer's RFB passes to QEMU. Everything is fed whole, in threes and byte by byte. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "display/holds.h"
#include "view/rfb_filter.h"

#define HELLO "RFB 003.008\n\1\1"

struct notes {
    char text[512];
    bool full; /* no key is taken any more */
};

static bool note_key(void *context, uint32_t key, bool down)
{
    struct notes *notes = context;
    sprintf(notes->text + strlen(notes->text), "%s%c%x ", key & HOLDS_KEYSYM ? "sym" : "code",
            down ? '+' : '-', key & ~HOLDS_KEYSYM);
    return !notes->full;
}

static void note_pointer(void *context, uint16_t x, uint16_t y, uint8_t buttons)
{
    struct notes *notes = context;
    sprintf(notes->text + strlen(notes->text), "at%u,%u:%u ", x, y, buttons);
}

struct result {
    uint8_t *out;
    size_t size;
    struct rfb_fault fault;
    struct notes notes;
    struct rfb_filter filter;
};

static void run(struct result *result, bool watch, const void *bytes, size_t size, size_t step)
{
    const struct rfb_hooks hooks = {&result->notes, note_key, note_pointer};
    bool full = result->notes.full;
    memset(result, 0, sizeof *result);
    result->notes.full = full;
    result->out = malloc(rfb_filter_room(size) + 1);
    rfb_filter_start(&result->filter, watch, &hooks);
    for (size_t at = 0; at < size && result->fault.code == CLOSE_NONE; at += step) {
        size_t part = at + step < size ? step : size - at;
        size_t room = rfb_filter_room(part);
        uint8_t *piece = malloc(room); /* so that a write past the room is seen */
        size_t got =
            rfb_filter_run(&result->filter, (const uint8_t *)bytes + at, part, piece, &result->fault);
        assert_true(got <= room);
        memcpy(result->out + result->size, piece, got);
        result->size += got;
        free(piece);
    }
}

/* Runs a handshake and `bytes`, and expects what passes of `bytes`, and what was noted. */
static void expect(bool watch, const void *bytes, size_t size, const void *passes, size_t passes_size,
                   const char *noted)
{
    static const size_t steps[] = {1, 3, 100000000};
    CLEANUP_FREE uint8_t *whole = malloc(sizeof HELLO - 1 + size);
    memcpy(whole, HELLO, sizeof HELLO - 1);
    memcpy(whole + sizeof HELLO - 1, bytes, size);
    for (size_t i = 0; i < 3; i++) {
        struct result result = {0};
        run(&result, watch, whole, sizeof HELLO - 1 + size, steps[i]);
        assert_int_equal(result.fault.code, CLOSE_NONE);
        assert_true(rfb_filter_ready(&result.filter));
        assert_int_equal(result.size, sizeof HELLO - 1 + passes_size);
        assert_memory_equal(result.out, HELLO, sizeof HELLO - 1);
        assert_memory_equal(result.out + sizeof HELLO - 1, passes, passes_size);
        assert_string_equal(result.notes.text, noted);
        free(result.out);
    }
}

#define PASSES(watch, bytes, noted) expect(watch, bytes, sizeof(bytes) - 1, bytes, sizeof(bytes) - 1, noted)
#define BECOMES(watch, bytes, other, noted)                                                                  \
    expect(watch, bytes, sizeof(bytes) - 1, other, sizeof(other) - 1, noted)
#define DROPS(watch, bytes) expect(watch, bytes, sizeof(bytes) - 1, "", 0, "")

/* Runs a stream from its first byte and expects its end. */
static void refuse(const void *bytes, size_t size, enum close_code code)
{
    static const size_t steps[] = {1, 3, 100000000};
    for (size_t i = 0; i < 3; i++) {
        struct result result = {0};
        uint8_t more[64] = {0}, out[64 + RFB_MESSAGE_MAX];
        struct rfb_fault fault;
        run(&result, false, bytes, size, steps[i]);
        assert_int_equal(result.fault.code, code);
        assert_non_null(result.fault.reason);
        /* nothing passes after it */
        assert_int_equal(rfb_filter_run(&result.filter, more, sizeof more, out, &fault), 0);
        assert_int_equal(rfb_filter_owed(&result.filter), 0);
        free(result.out);
    }
}
#define REFUSES(bytes, code) refuse(HELLO bytes, sizeof(HELLO bytes) - 1, code)

static void handshakes(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
        size_t size;
    } cases[] = {
        {"RFB 003.008\n\1\0", "RFB 003.008\n\1\1", 14}, /* shared, like it or not */
        {"RFB 003.007\n\1\x7f", "RFB 003.007\n\1\1", 14},
        {"RFB 003.003\n\0", "RFB 003.003\n\1", 13},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t step = 1; step < 20; step += 6) {
            struct result result = {0};
            run(&result, true, cases[i].in, cases[i].size, step);
            assert_int_equal(result.fault.code, CLOSE_NONE);
            assert_int_equal(result.size, cases[i].size);
            assert_memory_equal(result.out, cases[i].out, cases[i].size);
            free(result.out);
        }
    }
    refuse("RFB 004.000\n", 12, CLOSE_PROTOCOL);
    refuse("RFB 003.889\n", 12, CLOSE_PROTOCOL);
    refuse("GET / HTTP/1", 12, CLOSE_PROTOCOL);
    refuse("RFB 003.008\n\2", 13, CLOSE_PROTOCOL);   /* VNC authentication */
    refuse("RFB 003.008\n\x13", 13, CLOSE_PROTOCOL); /* VeNCrypt */
    struct result early = {0};
    run(&early, false, "RFB 003.008\n\1", 13, 5);
    assert_false(rfb_filter_ready(&early.filter));
    free(early.out);
}

static void acting(void **state)
{
    (void)state;
    PASSES(false, "\4\1\0\0\0\0\0\x61", "sym+61 ");
    PASSES(false, "\4\0\0\0\0\0\xff\xe3", "sym-ffe3 ");
    BECOMES(false, "\4\x09\1\2\0\0\0\x61", "\4\1\0\0\0\0\0\x61", "sym+61 ");
    PASSES(false, "\xff\0\0\1\0\0\0\x61\0\0\0\x1e", "code+1e ");
    PASSES(false, "\xff\0\0\0\0\0\0\x61\0\0\0\x9d", "code-9d ");
    BECOMES(false, "\xff\0\1\0\0\0\0\x61\0\0\0\x1e", "\xff\0\0\1\0\0\0\x61\0\0\0\x1e", "code+1e ");
    PASSES(false, "\5\1\0\x10\1\0", "at16,256:1 ");
    PASSES(false, "\5\0\xff\xff\xff\xff\5\4\0\1\0\2", "at65535,65535:0 at1,2:4 ");
    PASSES(false, "\6\0\0\0\0\0\0\3abc", "");
    PASSES(false, "\6\0\0\0\0\0\0\0\6\0\0\0\0\0\0\1x\4\1\0\0\0\0\0\x61", "sym+61 ");
    BECOMES(false, "\6\1\2\3\0\0\0\3abc", "\6\0\0\0\0\0\0\3abc", "");
}

static void keys_that_are_none(void **state)
{
    (void)state;
    DROPS(false, "\xff\0\0\1\0\0\0\x61\0\0\0\0"); /* no scancode */
    DROPS(false, "\xff\0\0\1\0\0\0\x61\0\0\1\0"); /* too large a one */
    DROPS(false, "\xff\0\0\1\0\0\0\x61\xff\0\0\x1e");
    DROPS(false, "\4\1\0\0\x80\0\0\x61"); /* no keysym */
}

static void a_key_that_cannot_be_noted_is_not_pressed(void **state)
{
    (void)state;
    struct result result = {.notes.full = true};
    run(&result, false, HELLO "\4\1\0\0\0\0\0\x61\xff\0\0\1\0\0\0\x61\0\0\0\x1e", sizeof HELLO - 1 + 20, 7);
    assert_int_equal(result.size, sizeof HELLO - 1);
    assert_string_equal(result.notes.text, "sym+61 code+1e ");
    free(result.out);
}

static void watching(void **state)
{
    (void)state;
    DROPS(true, "\4\1\0\0\0\0\0\x61");
    DROPS(true, "\xff\0\0\1\0\0\0\x61\0\0\0\x1e");
    DROPS(true, "\5\1\0\x10\1\0");
    DROPS(true, "\6\0\0\0\0\0\0\3abc");
    PASSES(true, "\3\1\0\0\0\0\5\0\3\x20", "");
    BECOMES(true, "\6\0\0\0\0\0\0\3abc\3\0\0\0\0\0\0\1\0\1\5\1\0\0\0\0\3\1\0\0\0\0\0\2\0\2",
            "\3\0\0\0\0\0\0\1\0\1\3\1\0\0\0\0\0\2\0\2", "");
}

static void pixel_formats(void **state)
{
    (void)state;
    PASSES(false, "\0\0\0\0\x20\x18\0\1\0\xff\0\xff\0\xff\x10\x08\0\0\0\0", "");
    PASSES(false, "\0\0\0\0\x10\x10\1\1\0\x1f\0\x3f\0\x1f\x0b\5\0\0\0\0", "");
    PASSES(false, "\0\0\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0", ""); /* a colour map */
    BECOMES(false, "\0\1\2\3\x20\x18\7\7\0\xff\0\xff\0\xff\x10\x08\0\1\2\3",
            "\0\0\0\0\x20\x18\1\1\0\xff\0\xff\0\xff\x10\x08\0\0\0\0", "");
    REFUSES("\0\0\0\0\x18\x18\0\1\0\xff\0\xff\0\xff\x10\x08\0\0\0\0", CLOSE_PROTOCOL); /* 24 bits */
    REFUSES("\0\0\0\0\x20\x21\0\1\0\xff\0\xff\0\xff\x10\x08\0\0\0\0", CLOSE_PROTOCOL); /* too deep */
    REFUSES("\0\0\0\0\x20\0\0\1\0\xff\0\xff\0\xff\x10\x08\0\0\0\0", CLOSE_PROTOCOL);
    REFUSES("\0\0\0\0\x20\x18\0\1\0\xff\0\xff\0\xff\x19\x08\0\0\0\0", CLOSE_PROTOCOL); /* 8 bits by 25 */
    REFUSES("\0\0\0\0\x20\x18\0\1\0\xfe\0\xff\0\xff\x10\x08\0\0\0\0", CLOSE_PROTOCOL); /* no 2^n - 1 */
    REFUSES("\0\0\0\0\x20\x18\0\1\0\0\0\xff\0\xff\x10\x08\0\0\0\0", CLOSE_PROTOCOL);
    REFUSES("\0\0\0\0\x20\x18\0\0\0\xff\0\xff\0\xff\x10\x08\0\0\0\0", CLOSE_PROTOCOL); /* map of 32 bits */
}

static void encodings(void **state)
{
    (void)state;
    /* raw, copyrect, tight, ZRLE, DesktopSize, cursor, key event, quality, compression */
    PASSES(false,
           "\2\0\0\x09\0\0\0\0\0\0\0\1\0\0\0\7\0\0\0\x10\xff\xff\xff\x21\xff\xff\xff\x11\xff\xff\xfe\xfe"
           "\xff\xff\xff\xe6\xff\xff\xff\x02",
           "");
    /* audio, LED, extended size, fence, continuous, XVP, extended clipboard, extended mouse buttons, H.264 */
    BECOMES(
        false,
        "\2\0\0\x0b\0\0\0\0\xff\xff\xfe\xfd\xff\xff\xfe\xfb\xff\xff\xfe\xcc\xff\xff\xfe\xc8\xff\xff\xfe\xc7"
        "\xff\xff\xfe\xcb\xc0\xa1\xe5\xce\xff\xff\xfe\xc4\0\0\0\x32\xff\xff\xff\x21",
        "\2\0\0\2\0\0\0\0\xff\xff\xff\x21", "");
    BECOMES(false, "\2\0\0\1\xff\xff\xfe\xfd", "\2\0\0\0", "");
    PASSES(false, "\2\0\0\0\3\1\0\0\0\0\5\0\3\x20", "");
    REFUSES("\2\0\1\1", CLOSE_PROTOCOL); /* 257 of them */
    uint8_t many[4 + 4 * RFB_ENCODINGS_MAX] = {2, 0, 1, 0};
    expect(false, many, sizeof many, many, sizeof many, "");
}

static void clipboards(void **state)
{
    (void)state;
    size_t size = 8 + RFB_CLIPBOARD_MAX;
    CLEANUP_FREE uint8_t *largest = calloc(1, size + 10);
    memcpy(largest, "\6\0\0\0\0\4\0\0", 8);
    memset(largest + 8, 'x', RFB_CLIPBOARD_MAX);
    memcpy(largest + size, "\3\1\0\0\0\0\5\0\3\x20", 10);
    expect(false, largest, size + 10, largest, size + 10, "");
    expect(true, largest, size + 10, largest + size, 10, "");
    REFUSES("\6\0\0\0\0\4\0\1", CLOSE_TOO_LARGE);
    REFUSES("\6\0\0\0\x7f\xff\xff\xff", CLOSE_TOO_LARGE);
    /* the extended clipboard: of no use, and bounded as well */
    DROPS(false, "\6\0\0\0\xff\xff\xff\xfc\1\2\3\4");
    REFUSES("\6\0\0\0\xff\xfb\xff\xff", CLOSE_TOO_LARGE);
    REFUSES("\6\0\0\0\x80\0\0\0", CLOSE_TOO_LARGE);
}

static void what_is_owed(void **state)
{
    (void)state;
    struct result result = {0};
    run(&result, false,
        HELLO "\6\0\0\0\0\0\0\x0a"
              "abc",
        sizeof HELLO - 1 + 11, 4);
    assert_int_equal(rfb_filter_owed(&result.filter), 7);
    free(result.out);
    run(&result, true,
        HELLO "\6\0\0\0\0\0\0\x0a"
              "abc",
        sizeof HELLO - 1 + 11, 4);
    assert_int_equal(rfb_filter_owed(&result.filter), 0); /* it does not pass */
    free(result.out);
    run(&result, false, HELLO "\5\1\0\x10\1", sizeof HELLO - 1 + 5, 4);
    assert_int_equal(rfb_filter_owed(&result.filter), 0); /* half a message was kept back */
    assert_int_equal(result.size, sizeof HELLO - 1);
    free(result.out);
}

static void what_is_of_no_use(void **state)
{
    (void)state;
    DROPS(false, "\xfb\0\5\0\3\x20\1\0"
                 "0123456789abcdef"); /* SetDesktopSize with a screen */
    DROPS(false, "\xfb\0\5\0\3\x20\0\0");
    DROPS(false, "\xf8\0\0\0\x80\0\0\1\3abc"); /* a fence */
    DROPS(false, "\xf8\0\0\0\x80\0\0\1\0");
    DROPS(false, "\x96\1\0\0\0\0\5\0\3\x20"); /* continuous updates */
    BECOMES(false, "\xf8\0\0\0\x80\0\0\1\3abc\5\1\0\x10\1\0", "\5\1\0\x10\1\0", "at16,256:1 ");
}

static void what_nobody_may(void **state)
{
    (void)state;
    REFUSES("\xff\1\0\0", CLOSE_PROTOCOL); /* audio on */
    REFUSES("\xff\1\0\1", CLOSE_PROTOCOL);
    REFUSES("\xff\2", CLOSE_PROTOCOL);
    REFUSES("\xfa\0\1\2", CLOSE_PROTOCOL);   /* XVP: shut down */
    REFUSES("\1\0\0\0\0\0", CLOSE_PROTOCOL); /* FixColourMapEntries */
    for (int type = 7; type < 256; type++) {
        static const uint8_t known[] = {150, 248, 251, 255};
        char bytes[] = HELLO "\0\0\0\0\0\0\0\0";
        bytes[sizeof HELLO - 1] = (char)type;
        if (!memchr(known, type, sizeof known))
            refuse(bytes, sizeof bytes - 1, CLOSE_PROTOCOL);
    }
}

static void releases(void **state)
{
    (void)state;
    uint8_t message[RFB_KEY_SIZE];
    assert_int_equal(rfb_write_key_up(message, 0x9d), 12);
    assert_memory_equal(message, "\xff\0\0\0\0\0\0\0\0\0\0\x9d", 12);
    assert_int_equal(rfb_write_key_up(message, HOLDS_KEYSYM | 0xffe3), 8);
    assert_memory_equal(message, "\4\0\0\0\0\0\xff\xe3", 8);
    assert_int_equal(rfb_write_pointer(message, 0x102, 0x304, 0), 6);
    assert_memory_equal(message, "\5\0\1\2\3\4", 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handshakes),         cmocka_unit_test(acting),
        cmocka_unit_test(keys_that_are_none), cmocka_unit_test(a_key_that_cannot_be_noted_is_not_pressed),
        cmocka_unit_test(watching),           cmocka_unit_test(pixel_formats),
        cmocka_unit_test(encodings),          cmocka_unit_test(clipboards),
        cmocka_unit_test(what_is_owed),       cmocka_unit_test(what_is_of_no_use),
        cmocka_unit_test(what_nobody_may),    cmocka_unit_test(releases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
