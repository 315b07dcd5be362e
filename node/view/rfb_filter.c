/*
 * Theory of operation: bytes are gathered until the step's message has as many as it needs; then its handler
 * judges it. It lets it through (the gathered bytes go out), takes it off (they do not), asks for more (a
 * message that tells its own length), or finds a fault. The text of a clipboard and the rest of what is taken
 * off are not gathered: they are counted.
 */
#include "view/rfb_filter.h"

#include <string.h>

#include "display/holds.h"

enum message_type {
    SET_PIXEL_FORMAT = 0,
    SET_ENCODINGS = 2,
    UPDATE_REQUEST = 3,
    KEY_EVENT = 4,
    POINTER_EVENT = 5,
    CLIENT_CUT_TEXT = 6,
    ENABLE_CONTINUOUS_UPDATES = 150,
    CLIENT_FENCE = 248,
    SET_DESKTOP_SIZE = 251,
    QEMU_CLIENT_MESSAGE = 255,
};

enum verdict { PASS, DROP, MORE, FAULT };

static const struct rfb_fault no_fault = {CLOSE_NONE, NULL};

static uint16_t read_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t read_u32(const uint8_t *at)
{
    return (uint32_t)read_u16(at) << 16 | read_u16(at + 2);
}

static void write_u16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void write_u32(uint8_t *at, uint32_t value)
{
    write_u16(at, (uint16_t)(value >> 16));
    write_u16(at + 2, (uint16_t)value);
}

static enum verdict refuse_message(struct rfb_fault *fault, enum close_code code, const char *reason)
{
    *fault = (struct rfb_fault){code, reason};
    return FAULT;
}

static void expect_step(struct rfb_filter *filter, enum rfb_step step, size_t need)
{
    filter->step = step;
    filter->have = 0;
    filter->need = need;
}

void rfb_filter_start(struct rfb_filter *filter, bool watch, const struct rfb_hooks *hooks)
{
    memset(filter, 0, sizeof *filter);
    filter->watch = watch;
    filter->hooks = *hooks;
    expect_step(filter, RFB_VERSION, 12);
}

/* --- the handshake (RFC 6143 section 7.1 to 7.3) ---------------------------------------------------- */

static enum verdict judge_version(struct rfb_filter *filter, struct rfb_fault *fault)
{
    static const char *const known[] = {"RFB 003.003\n", "RFB 003.007\n", "RFB 003.008\n"};
    for (int i = 0; i < 3; i++) {
        if (memcmp(filter->message, known[i], 12) != 0)
            continue;
        /* with 3.3 the server decides about security, and the client is not asked */
        filter->step = i == 0 ? RFB_INIT : RFB_SECURITY;
        return PASS;
    }
    return refuse_message(fault, CLOSE_PROTOCOL, "this is no version of RFB that is spoken here");
}

static enum verdict judge_security(struct rfb_filter *filter, struct rfb_fault *fault)
{
    if (filter->message[0] != 1)
        return refuse_message(fault, CLOSE_PROTOCOL, "the security type here is none");
    filter->step = RFB_INIT;
    return PASS;
}

/* --- messages (RFC 6143 section 7.5) ---------------------------------------------------------------- */

/* How many bits a maximum has when it is 2^n - 1, else -1. */
static int bits_of(uint16_t maximum)
{
    int bits = 0;
    while (bits < 16 && maximum >> bits & 1)
        bits++;
    return maximum >> bits ? -1 : bits;
}

static enum verdict judge_pixel_format(struct rfb_filter *filter, struct rfb_fault *fault)
{
    uint8_t *format = filter->message + 4;
    uint8_t bits = format[0], depth = format[1];
    bool good =
        (bits == 8 || bits == 16 || bits == 32) && depth >= 1 && depth <= bits && (format[3] || bits == 8);
    for (int i = 0; i < 3 && format[3]; i++) {
        int wide = bits_of(read_u16(format + 4 + 2 * i));
        good = good && wide >= 1 && wide + format[10 + i] <= bits;
    }
    if (!good)
        return refuse_message(fault, CLOSE_PROTOCOL, "this pixel format makes no sense");
    format[2] = format[2] != 0;
    format[3] = format[3] != 0;
    memset(filter->message + 1, 0, 3);
    memset(format + 13, 0, 3);
    return PASS;
}

static bool encoding_may_pass(int32_t encoding)
{
    static const int32_t known[] = {
        0,    /* raw */
        1,    /* CopyRect */
        5,    /* Hextile */
        6,    /* zlib */
        7,    /* Tight */
        16,   /* ZRLE */
        -223, /* DesktopSize */
        -239, /* Cursor */
        -258, /* QEMU extended key event */
        -260, /* Tight with PNG */
        -314, /* Cursor with alpha */
    };
    if ((encoding >= -32 && encoding <= -23) || (encoding >= -256 && encoding <= -247))
        return true; /* JPEG quality and compression levels */
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (encoding == known[i])
            return true;
    return false;
}

static enum verdict judge_encodings(struct rfb_filter *filter, struct rfb_fault *fault)
{
    uint8_t *message = filter->message;
    size_t count = read_u16(message + 2), kept = 0;
    if (count > RFB_ENCODINGS_MAX)
        return refuse_message(fault, CLOSE_PROTOCOL, "too many encodings");
    if (filter->have < 4 + 4 * count) {
        filter->need = 4 + 4 * count;
        return MORE;
    }
    for (size_t i = 0; i < count; i++)
        if (encoding_may_pass((int32_t)read_u32(message + 4 + 4 * i)))
            memmove(message + 4 + 4 * kept++, message + 4 + 4 * i, 4);
    message[1] = 0;
    write_u16(message + 2, (uint16_t)kept);
    filter->have = 4 + 4 * kept;
    return PASS;
}

static enum verdict judge_key(struct rfb_filter *filter)
{
    uint32_t keysym = read_u32(filter->message + 4);
    bool down = filter->message[1] != 0;
    if (filter->watch || keysym & HOLDS_KEYSYM ||
        !filter->hooks.key(filter->hooks.context, keysym | HOLDS_KEYSYM, down))
        return DROP;
    filter->message[1] = down;
    write_u16(filter->message + 2, 0);
    return PASS;
}

static enum verdict judge_qemu(struct rfb_filter *filter, struct rfb_fault *fault)
{
    uint8_t *message = filter->message;
    if (message[1] != 0)
        return refuse_message(fault, CLOSE_PROTOCOL, "of QEMU's own messages only the key event is taken");
    if (filter->have < RFB_KEY_SIZE) {
        filter->need = RFB_KEY_SIZE;
        return MORE;
    }
    bool down = read_u16(message + 2) != 0;
    uint32_t code = read_u32(message + 8);
    if (filter->watch || code < 1 || code > 255 || !filter->hooks.key(filter->hooks.context, code, down))
        return DROP;
    write_u16(message + 2, down);
    return PASS;
}

static enum verdict judge_pointer(struct rfb_filter *filter)
{
    const uint8_t *message = filter->message;
    if (filter->watch)
        return DROP;
    filter->hooks.pointer(filter->hooks.context, read_u16(message + 2), read_u16(message + 4), message[1]);
    return PASS;
}

static enum verdict judge_clipboard(struct rfb_filter *filter, struct rfb_fault *fault)
{
    int32_t length = (int32_t)read_u32(filter->message + 4);
    /* a negative length is the extended clipboard, which QEMU was not told that anybody understands */
    bool extended = length < 0;
    if (length > RFB_CLIPBOARD_MAX || length < -RFB_CLIPBOARD_MAX)
        return refuse_message(fault, CLOSE_TOO_LARGE, "a clipboard text is at most 256 KiB");
    filter->left = (size_t)(extended ? -length : length);
    memset(filter->message + 1, 0, 3);
    return filter->watch || extended ? DROP : PASS;
}

/* Judges a message whose first `need` bytes are here; `left` is then what follows them. */
static enum verdict judge_message(struct rfb_filter *filter, struct rfb_fault *fault)
{
    const uint8_t *message = filter->message;
    filter->left = 0;
    switch (message[0]) {
    case SET_PIXEL_FORMAT:
        return judge_pixel_format(filter, fault);
    case SET_ENCODINGS:
        return judge_encodings(filter, fault);
    case UPDATE_REQUEST:
        return PASS;
    case KEY_EVENT:
        return judge_key(filter);
    case POINTER_EVENT:
        return judge_pointer(filter);
    case CLIENT_CUT_TEXT:
        return judge_clipboard(filter, fault);
    case QEMU_CLIENT_MESSAGE:
        return judge_qemu(filter, fault);
    case CLIENT_FENCE:
        filter->left = message[8];
        return DROP;
    case SET_DESKTOP_SIZE:
        filter->left = 16u * message[6];
        return DROP;
    default: /* ENABLE_CONTINUOUS_UPDATES */
        return DROP;
    }
}

/* The bytes after which a message of a type can be judged first; 0 for a type that is not taken. */
static const uint8_t needed_for[UINT8_MAX + 1] = {
    [SET_PIXEL_FORMAT] = 20,
    [SET_ENCODINGS] = 4,
    [UPDATE_REQUEST] = 10,
    [KEY_EVENT] = 8,
    [POINTER_EVENT] = RFB_POINTER_SIZE,
    [CLIENT_CUT_TEXT] = 8,
    [ENABLE_CONTINUOUS_UPDATES] = 10,
    [CLIENT_FENCE] = 9,
    [SET_DESKTOP_SIZE] = 8,
    [QEMU_CLIENT_MESSAGE] = 2,
};

static enum verdict judge_step(struct rfb_filter *filter, struct rfb_fault *fault)
{
    switch (filter->step) {
    case RFB_VERSION:
        return judge_version(filter, fault);
    case RFB_SECURITY:
        return judge_security(filter, fault);
    case RFB_INIT:
        filter->message[0] = 1; /* shared: the others stay */
        filter->step = RFB_TYPE;
        return PASS;
    case RFB_TYPE:
        filter->step = RFB_BODY;
        filter->need = needed_for[filter->message[0]];
        return filter->need ? MORE
                            : refuse_message(fault, CLOSE_PROTOCOL, "a message of this type is not taken");
    default:
        return judge_message(filter, fault);
    }
}

/* After a message was judged: what the filter waits for next. */
static void go_on(struct rfb_filter *filter, enum verdict verdict)
{
    if (filter->step == RFB_SECURITY || filter->step == RFB_INIT)
        expect_step(filter, filter->step, 1);
    else if (filter->left > 0)
        filter->step = verdict == PASS ? RFB_PASS : RFB_DROP;
    else
        expect_step(filter, RFB_TYPE, 1);
}

size_t rfb_filter_run(struct rfb_filter *filter, const uint8_t *bytes, size_t size, uint8_t *out,
                      struct rfb_fault *fault)
{
    size_t written = 0;
    *fault = no_fault;
    while (size > 0) {
        bool counted = filter->step == RFB_PASS || filter->step == RFB_DROP;
        size_t want = counted ? filter->left : filter->need - filter->have;
        size_t take = want < size ? want : size;
        if (filter->step == RFB_PASS) {
            memcpy(out + written, bytes, take);
            written += take;
        } else if (!counted) {
            memcpy(filter->message + filter->have, bytes, take);
            filter->have += take;
        }
        bytes += take;
        size -= take;
        if (counted) {
            filter->left -= take;
            if (filter->left == 0)
                expect_step(filter, RFB_TYPE, 1);
            continue;
        }
        enum verdict verdict = MORE;
        while (verdict == MORE && filter->have == filter->need)
            verdict = judge_step(filter, fault);
        if (verdict == FAULT) {
            filter->step = RFB_DROP;
            filter->left = SIZE_MAX;
            return written;
        }
        if (verdict == PASS) {
            memcpy(out + written, filter->message, filter->have);
            written += filter->have;
        }
        if (verdict != MORE)
            go_on(filter, verdict);
    }
    return written;
}

bool rfb_filter_ready(const struct rfb_filter *filter)
{
    return filter->step >= RFB_TYPE;
}

size_t rfb_filter_owed(const struct rfb_filter *filter)
{
    return filter->step == RFB_PASS ? filter->left : 0;
}

size_t rfb_write_key_up(uint8_t message[RFB_KEY_SIZE], uint32_t key)
{
    memset(message, 0, RFB_KEY_SIZE);
    if (key & HOLDS_KEYSYM) {
        message[0] = KEY_EVENT;
        write_u32(message + 4, key & ~HOLDS_KEYSYM);
        return 8;
    }
    message[0] = QEMU_CLIENT_MESSAGE;
    write_u32(message + 8, key);
    return RFB_KEY_SIZE;
}

size_t rfb_write_pointer(uint8_t message[RFB_POINTER_SIZE], uint16_t x, uint16_t y, uint8_t buttons)
{
    message[0] = POINTER_EVENT;
    message[1] = buttons;
    write_u16(message + 2, x);
    write_u16(message + 4, y);
    return RFB_POINTER_SIZE;
}
