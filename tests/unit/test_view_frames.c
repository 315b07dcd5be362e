/* WebSocket frames from a client, and those that are sent. Everything is fed whole and byte by byte. */
#include "unit.h"

#include <string.h>

#include "view/frames.h"

struct wire {
    uint8_t bytes[8192];
    size_t size;
};

/* Adds a masked frame; `size` is what the header says, `given` how much of the payload follows it. */
static void put_frame(struct wire *wire, uint8_t first, uint64_t size, const void *payload, size_t given)
{
    static const uint8_t mask[4] = {0x12, 0x34, 0x56, 0x78};
    uint8_t *at = wire->bytes + wire->size;
    *at++ = first;
    if (size < 126) {
        *at++ = 0x80 | (uint8_t)size;
    } else if (size < 65536) {
        *at++ = 0x80 | 126;
        *at++ = (uint8_t)(size >> 8);
        *at++ = (uint8_t)size;
    } else {
        *at++ = 0x80 | 127;
        for (int shift = 56; shift >= 0; shift -= 8)
            *at++ = (uint8_t)(size >> shift);
    }
    memcpy(at, mask, 4);
    at += 4;
    for (size_t i = 0; i < given; i++)
        *at++ = ((const uint8_t *)payload)[i] ^ mask[i % 4];
    wire->size = (size_t)(at - wire->bytes);
}

static void put_text(struct wire *wire, uint8_t first, const char *payload)
{
    put_frame(wire, first, strlen(payload), payload, strlen(payload));
}

/* What came of it all, as text: data as it is, "<ping:..>", "<pong>", "<close 1000>", "<fault 1002>". */
static void take_all(struct frames *frames, char *story)
{
    for (;;) {
        struct frames_item item = frames_next(frames);
        size_t used = strlen(story);
        switch (item.kind) {
        case FRAMES_MORE:
            return;
        case FRAMES_DATA:
            assert_true(item.size > 0);
            memcpy(story + used, item.data, item.size);
            story[used + item.size] = '\0';
            break;
        case FRAMES_PING:
            sprintf(story + used, "<ping:%.*s>", (int)item.size, (const char *)item.data);
            break;
        case FRAMES_PONG:
            strcat(story, "<pong>");
            break;
        case FRAMES_CLOSE:
            sprintf(story + used, "<close %d>", item.code);
            break;
        case FRAMES_FAULT:
            assert_non_null(item.reason);
            sprintf(story + used, "<fault %d>", item.code);
            break;
        }
    }
}

static void expect(const struct wire *wire, const char *story)
{
    for (size_t step = 1; step <= wire->size; step = step == 1 ? 3 : step == 3 ? wire->size : step + 1) {
        CLEANUP(cleanup_frames) struct frames *frames = frames_new();
        char told[16384] = "";
        for (size_t at = 0; at < wire->size; at += step) {
            frames_feed(frames, wire->bytes + at, at + step < wire->size ? step : wire->size - at);
            take_all(frames, told);
        }
        assert_string_equal(told, story);
    }
}

static void messages(void **state)
{
    (void)state;
    struct wire wire = {0};
    put_text(&wire, 0x82, "one ");
    put_text(&wire, 0x82, "");
    put_text(&wire, 0x82, "two ");
    put_text(&wire, 0x02, "three"); /* in pieces, with control frames between */
    put_text(&wire, 0x89, "are you");
    put_text(&wire, 0x00, "-and");
    put_text(&wire, 0x8a, "yes");
    put_text(&wire, 0x00, "");
    put_text(&wire, 0x80, "-four");
    put_text(&wire, 0x82, " end");
    expect(&wire, "one two three<ping:are you>-and<pong>-four end");
}

static void lengths(void **state)
{
    (void)state;
    static const size_t sizes[] = {125, 126, 127, 4096, 4097};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char text[4200] = "";
        struct wire wire = {0};
        memset(text, 'x', sizes[i]);
        put_text(&wire, 0x82, text);
        expect(&wire, text);
    }
}

static void fault(uint8_t first, const char *payload, int code)
{
    struct wire wire = {0};
    char story[32];
    put_text(&wire, 0x82, "before ");
    put_text(&wire, first, payload);
    put_text(&wire, 0x82, "never");
    snprintf(story, sizeof story, "before <fault %d>", code);
    expect(&wire, story);
}

static void faults(void **state)
{
    (void)state;
    fault(0x81, "text", CLOSE_UNSUPPORTED);
    fault(0xc2, "reserved bit 1", CLOSE_PROTOCOL);
    fault(0xa2, "reserved bit 2", CLOSE_PROTOCOL);
    fault(0x92, "reserved bit 3", CLOSE_PROTOCOL);
    fault(0xc9, "on a ping", CLOSE_PROTOCOL);
    fault(0x83, "opcode 3", CLOSE_PROTOCOL);
    fault(0x87, "opcode 7", CLOSE_PROTOCOL);
    fault(0x8b, "opcode 11", CLOSE_PROTOCOL);
    fault(0x8f, "opcode 15", CLOSE_PROTOCOL);
    fault(0x09, "a ping in pieces", CLOSE_PROTOCOL);
    fault(0x08, "", CLOSE_PROTOCOL);
    fault(0x80, "goes on with nothing", CLOSE_PROTOCOL);
    fault(0x00, "goes on with nothing", CLOSE_PROTOCOL);
    fault(0x88, "x", CLOSE_PROTOCOL); /* half a code */
}

static void two_messages_at_once(void **state)
{
    (void)state;
    struct wire wire = {0};
    put_text(&wire, 0x02, "one");
    put_text(&wire, 0x82, "two");
    expect(&wire, "one<fault 1002>");
}

static void unmasked(void **state)
{
    (void)state;
    struct wire wire = {.bytes = {0x82, 3, 'a', 'b', 'c'}, .size = 5};
    expect(&wire, "<fault 1002>");
}

static void longer_than_needed(void **state)
{
    (void)state;
    struct wire short_as_16 = {.bytes = {0x82, 0x80 | 126, 0, 5, 1, 2, 3, 4, 0, 0, 0, 0, 0}, .size = 13};
    expect(&short_as_16, "<fault 1002>");
    struct wire short_as_64 = {.bytes = {0x82, 0x80 | 127, 0, 0, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4, 0, 0, 0, 0, 0},
                               .size = 19};
    expect(&short_as_64, "<fault 1002>");
    struct wire negative = {.bytes = {0x82, 0x80 | 127, 0x80, 0, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4, 0},
                            .size = 15};
    expect(&negative, "<fault 1002>");
}

static void too_large(void **state)
{
    (void)state;
    struct wire wire = {0};
    put_frame(&wire, 0x82, FRAMES_MESSAGE_MAX + 1, "x", 1);
    expect(&wire, "<fault 1009>");

    struct wire pieces = {0}; /* each is small enough */
    put_text(&pieces, 0x02, "x");
    put_frame(&pieces, 0x80, FRAMES_MESSAGE_MAX, "y", 1);
    expect(&pieces, "x<fault 1009>");

    struct wire most = {0};
    put_frame(&most, 0x82, FRAMES_MESSAGE_MAX, "x", 1);
    expect(&most, "x");

    struct wire huge = {0};
    put_frame(&huge, 0x82, UINT64_C(0x7fffffffffffffff), "x", 1);
    expect(&huge, "<fault 1009>");

    struct wire control = {0};
    put_frame(&control, 0x89, 126, "x", 1);
    expect(&control, "<fault 1002>");
}

static void closing(void **state)
{
    (void)state;
    static const struct {
        const char *payload;
        size_t size;
        const char *story;
    } cases[] = {
        {"", 0, "<close 1005>"},
        {"\x03\xe8", 2, "<close 1000>"},
        {"\x03\xe9going away", 12, "<close 1001>"},
        {"\x0f\xa1mine", 6, "<close 4001>"},
        {"\x03\xe8\xc3\xa9", 4, "<close 1000>"},
        {"\x03\xe8\xc3", 3, "<fault 1007>"},
        {"\x03\xe8\xed\xa0\x80", 5, "<fault 1007>"}, /* a surrogate */
        {"\x03\xe7", 2, "<fault 1002>"},             /* 999 */
        {"\x03\xec", 2, "<fault 1002>"},             /* 1004 */
        {"\x03\xed", 2, "<fault 1002>"},             /* 1005 is never sent */
        {"\x03\xee", 2, "<fault 1002>"},             /* 1006 neither */
        {"\x03\xf7", 2, "<fault 1002>"},             /* 1015 neither */
        {"\x0b\xb7", 2, "<fault 1002>"},             /* 2999 */
        {"\x13\x88", 2, "<fault 1002>"},             /* 5000 */
        {"\x00\x00", 2, "<fault 1002>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct wire wire = {0};
        put_frame(&wire, 0x88, cases[i].size, cases[i].payload, cases[i].size);
        put_text(&wire, 0x82, "nothing after it");
        expect(&wire, cases[i].story);
    }
}

static void what_is_sent(void **state)
{
    (void)state;
    uint8_t header[FRAMES_HEADER_MAX], frame[2 + FRAMES_CONTROL_MAX];
    assert_int_equal(frames_header(header, FRAME_BINARY, 125), 2);
    assert_memory_equal(header, "\x82\x7d", 2);
    assert_int_equal(frames_header(header, FRAME_BINARY, 126), 4);
    assert_memory_equal(header, "\x82\x7e\x00\x7e", 4);
    assert_int_equal(frames_header(header, FRAME_BINARY, 65535), 4);
    assert_memory_equal(header, "\x82\x7e\xff\xff", 4);
    assert_int_equal(frames_header(header, FRAME_BINARY, 65536), 10);
    assert_memory_equal(header, "\x82\x7f\0\0\0\0\0\x01\0\0", 10);
    assert_int_equal(frames_header(header, FRAME_PING, 0), 2);
    assert_memory_equal(header, "\x89\x00", 2);
    assert_int_equal(frames_close(frame, 4001, "the end"), 11);
    assert_memory_equal(frame, "\x88\x09\x0f\xa1the end", 11);
    char endless[300];
    memset(endless, 'x', sizeof endless);
    endless[299] = '\0';
    assert_int_equal(frames_close(frame, 1000, endless), 127);
    assert_memory_equal(frame, "\x88\x7d\x03\xe8xxx", 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages),     cmocka_unit_test(lengths),
        cmocka_unit_test(faults),       cmocka_unit_test(two_messages_at_once),
        cmocka_unit_test(unmasked),     cmocka_unit_test(longer_than_needed),
        cmocka_unit_test(too_large),    cmocka_unit_test(closing),
        cmocka_unit_test(what_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
