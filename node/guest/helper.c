#include "guest/helper.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "guest/agent.h"
#include "guest/hypervisor.h"

enum { CLICKS_MAX = 3, NOTCHES_MAX = 100 };

static char *ask_guest(void *guest, const char *command, int64_t timeout_ms, struct error *err)
{
    return guest_agent_command(guest, command, timeout_ms, err);
}

static int run_on(const struct guest *guest, struct helper_run run, size_t *typed, struct error *err)
{
    HYPERVISOR_HOLD_SCOPE(guest->hypervisor);
    run.ask = ask_guest;
    run.agent = (void *)(uintptr_t)guest;
    return helper_run(&run, typed, err);
}

/* Code points of a text; 0 when it is not UTF-8 or holds a NUL. */
static size_t count_characters(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t at = 0, length; at < size; at += length, count++) {
        uint32_t code_point;
        length = text_decode(text + at, size - at, &code_point);
        if (length == 0 || code_point == 0)
            return 0;
    }
    return count;
}

int guest_helper_type(const struct guest *guest, const char *text, size_t size, helper_cancelled *cancelled,
                      void *context, int64_t deadline_ms, size_t *typed, struct error *err)
{
    static const char *const arguments[] = {"type", NULL};
    struct helper_run run = {.arguments = arguments,
                             .input = text,
                             .input_size = size,
                             .cancelled = cancelled,
                             .context = context,
                             .deadline_ms = deadline_ms};
    *typed = 0;
    if (size == 0 || size > HELPER_TEXT_MAX_BYTES)
        return error_set(err, ERROR_BAD_REQUEST, "a text to type has 1 to %d bytes, not %zu",
                         HELPER_TEXT_MAX_BYTES, size);
    run.characters = count_characters(text, size);
    if (run.characters == 0)
        return error_set(err, ERROR_BAD_REQUEST, "a text to type must be UTF-8 without NUL");
    return run_on(guest, run, typed, err);
}

/* The verbs of the pointer: three or four numbers and words. */
static int run_pointer(const struct guest *guest, const char *verb, uint32_t x, uint32_t y, const char *third,
                       const char *fourth, int64_t deadline_ms, struct error *err)
{
    char x_text[12], y_text[12];
    const char *const arguments[] = {verb, x_text, y_text, third, fourth, NULL};
    struct helper_run run = {.arguments = arguments, .deadline_ms = deadline_ms};
    size_t typed;
    snprintf(x_text, sizeof x_text, "%" PRIu32, x);
    snprintf(y_text, sizeof y_text, "%" PRIu32, y);
    return run_on(guest, run, &typed, err);
}

int guest_helper_click(const struct guest *guest, uint32_t x, uint32_t y, enum helper_button button,
                       int count, int64_t deadline_ms, struct error *err)
{
    char count_text[12];
    if (count < 1 || count > CLICKS_MAX)
        return error_set(err, ERROR_BAD_REQUEST, "a click is 1 to %d clicks, not %d", CLICKS_MAX, count);
    snprintf(count_text, sizeof count_text, "%d", count);
    return run_pointer(guest, "click", x, y, button == HELPER_BACK ? "back" : "forward", count_text,
                       deadline_ms, err);
}

int guest_helper_scroll(const struct guest *guest, uint32_t x, uint32_t y, int dx, int64_t deadline_ms,
                        struct error *err)
{
    char dx_text[12];
    if (dx < -NOTCHES_MAX || dx > NOTCHES_MAX)
        return error_set(err, ERROR_BAD_REQUEST, "a scroll is -%d to %d notches, not %d", NOTCHES_MAX,
                         NOTCHES_MAX, dx);
    snprintf(dx_text, sizeof dx_text, "%d", dx);
    return run_pointer(guest, "scroll", x, y, dx_text, NULL, deadline_ms, err);
}

int guest_helper_renew(const struct guest *guest, int64_t deadline_ms, struct error *err)
{
    static const char *const arguments[] = {"renew", NULL};
    struct helper_run run = {.arguments = arguments, .deadline_ms = deadline_ms};
    size_t typed;
    return run_on(guest, run, &typed, err);
}
