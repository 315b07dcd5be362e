/* The in-guest helper's node side against a fake agent: what it sends, and what it makes of every kind of
 * answer. */
#include "unit.h"

#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/text.h"
#include "guest/helper.h"
#include "guest/hypervisor.h"

/* A guest whose helper ends after some looks with some words. */
struct fake_guest {
    int looks_until_end;    /* of the first process; INT_MAX: only when released */
    const char *words;      /* its standard output */
    const char *last_words; /* the same once it was released; NULL never ends */
    const char *status;     /* a whole answer to guest-exec-status instead */
    const char *start;      /* a whole answer to guest-exec instead */
    bool silent;            /* nothing is answered */
    int looks, starts, releases;
    char *input; /* what the first process got. Owned */
    size_t input_size;
    char arguments[128]; /* its arguments, joined with spaces */
};

static char *in_base64(const char *text)
{
    gnutls_datum_t in = {(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)}, out;
    assert_int_equal(gnutls_base64_encode2(&in, &out), 0);
    char *copy = text_format("%.*s", (int)out.size, (const char *)out.data);
    gnutls_free(out.data);
    return copy;
}

static void take_input(struct fake_guest *guest, const json_t *arguments)
{
    const char *encoded = json_string_value(json_object_get(arguments, "input-data"));
    if (!encoded)
        return;
    gnutls_datum_t in = {(unsigned char *)(uintptr_t)encoded, (unsigned)strlen(encoded)}, out;
    assert_int_equal(gnutls_base64_decode2(&in, &out), 0);
    guest->input = malloc(out.size + 1);
    memcpy(guest->input, out.data, out.size);
    guest->input_size = out.size;
    gnutls_free(out.data);
}

static char *started(struct fake_guest *guest, const json_t *arguments)
{
    const json_t *words = json_object_get(arguments, "arg");
    assert_string_equal(json_string_value(json_object_get(arguments, "path")), HELPER_PATH);
    assert_true(json_is_true(json_object_get(arguments, "capture-output")));
    if (strcmp(json_string_value(json_array_get(words, 0)), "release") == 0) {
        guest->releases++;
        return text_copy("{\"return\":{\"pid\":8}}");
    }
    assert_int_equal(guest->starts++, 0); /* input is never entered twice */
    for (size_t i = 0; i < json_array_size(words); i++) {
        size_t at = strlen(guest->arguments);
        snprintf(guest->arguments + at, sizeof guest->arguments - at, "%s%s", i ? " " : "",
                 json_string_value(json_array_get(words, i)));
    }
    take_input(guest, arguments);
    return text_copy(guest->start ? guest->start : "{\"return\":{\"pid\":7}}");
}

static char *looked(struct fake_guest *guest, const json_t *arguments)
{
    assert_int_equal(json_integer_value(json_object_get(arguments, "pid")), 7);
    guest->looks++;
    if (guest->status)
        return text_copy(guest->status);
    const char *words = guest->releases                         ? guest->last_words
                        : guest->looks > guest->looks_until_end ? guest->words
                                                                : NULL;
    if (!words)
        return text_copy("{\"return\":{\"exited\":false}}");
    CLEANUP_FREE char *encoded = in_base64(words);
    return text_format("{\"return\":{\"exited\":true,\"exitcode\":0,\"out-data\":\"%s\"}}", encoded);
}

static char *answer(void *context, const char *command, int64_t timeout_ms, struct error *err)
{
    struct fake_guest *guest = context;
    struct error reason = ERROR_INIT;
    assert_true(timeout_ms > 0);
    CLEANUP_JSON json_t *document = document_parse(command, strlen(command), &reason);
    assert_non_null(document);
    const char *execute = json_string_value(json_object_get(document, "execute"));
    const json_t *arguments = json_object_get(document, "arguments");
    if (guest->silent) {
        error_set(err, ERROR_GUEST_FAILED, "the guest agent does not answer");
        return NULL;
    }
    if (strcmp(execute, "guest-exec") == 0)
        return started(guest, arguments);
    assert_string_equal(execute, "guest-exec-status");
    return looked(guest, arguments);
}

static bool at_third_look(void *context)
{
    return ((struct fake_guest *)context)->looks >= 3;
}

static const char *const type[] = {"type", NULL};

static int enter(struct fake_guest *guest, const char *text, helper_cancelled *cancelled, int64_t timeout_ms,
                 size_t *typed, struct error *err)
{
    struct helper_run run = {.ask = answer,
                             .agent = guest,
                             .arguments = type,
                             .input = text,
                             .input_size = strlen(text),
                             .characters = strlen(text),
                             .cancelled = cancelled,
                             .context = guest,
                             .deadline_ms = clock_deadline(timeout_ms)};
    return helper_run(&run, typed, err);
}

static void test_text_is_entered(void **state)
{
    (void)state;
    struct fake_guest guest = {.looks_until_end = 4, .words = "{\"ok\":true}\n"};
    struct error err = ERROR_INIT;
    size_t typed;
    assert_int_equal(enter(&guest, "a\"b\\c\xc3\xb1\n", NULL, 5000, &typed, &err), 0);
    assert_string_equal(guest.arguments, "type");
    assert_int_equal(guest.input_size, 8);
    assert_memory_equal(guest.input, "a\"b\\c\xc3\xb1\n", 8);
    assert_int_equal(typed, 8); /* what `characters` said */
    assert_int_equal(guest.releases, 0);
    free(guest.input);
}

static void test_long_text_in_one_piece(void **state)
{
    (void)state;
    struct fake_guest guest = {.words = "{\"ok\":true}"};
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *text = calloc(1, HELPER_TEXT_MAX_BYTES + 1);
    for (size_t i = 0; i < HELPER_TEXT_MAX_BYTES; i++)
        text[i] = (char)('!' + i % 90);
    size_t typed;
    assert_int_equal(enter(&guest, text, NULL, 5000, &typed, &err), 0);
    assert_int_equal(guest.input_size, HELPER_TEXT_MAX_BYTES);
    assert_memory_equal(guest.input, text, HELPER_TEXT_MAX_BYTES);
    free(guest.input);
}

/* Failures that the helper tells of: which error, how many characters. */
static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        enum error_code code;
        size_t typed;
    } cases[] = {
        {"{\"ok\":false,\"typed\":0,\"error\":\"no text field has the focus\"}", ERROR_UNTYPABLE, 0},
        {"{\"ok\":false,\"typed\":3,\"error\":\"the X server is gone\"}", ERROR_GUEST_FAILED, 3},
        {"{\"ok\":false,\"error\":\"busy\"}", ERROR_GUEST_FAILED, 0},
        {"{\"ok\":false,\"typed\":6,\"error\":\"more than there were\"}", ERROR_GUEST_FAILED, 0},
        {"{\"ok\":false,\"typed\":-1,\"error\":\"x\"}", ERROR_GUEST_FAILED, 0},
        {"{\"ok\":false,\"typed\":2,\"error\":\"\\u001b[31m\"}", ERROR_GUEST_FAILED, 0},
        {"{\"ok\":false,\"typed\":2,\"error\":7}", ERROR_GUEST_FAILED, 0},
        {"{\"ok\":\"yes\"}", ERROR_GUEST_FAILED, 0},
        {"[]", ERROR_GUEST_FAILED, 0},
        {"Segmentation fault", ERROR_GUEST_FAILED, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fake_guest guest = {.words = cases[i].words};
        struct error err = ERROR_INIT;
        size_t typed;
        assert_int_equal(enter(&guest, "five!", NULL, 5000, &typed, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(typed, cases[i].typed);
        assert_null(strchr(err.text, 0x1b));
        free(guest.input);
    }
}

/* Answers of an agent that is not one. */
static void test_strange_agents(void **state)
{
    (void)state;
    static const char *const statuses[] = {
        "",
        "{}",
        "{\"return\":{}}",
        "{\"return\":{\"exited\":1}}",
        "{\"return\":{\"exited\":true}}",
        "{\"return\":{\"exited\":true,\"out-data\":\"\"}}",
        "{\"return\":{\"exited\":true,\"out-data\":17}}",
        "{\"return\":{\"exited\":true,\"out-data\":\"%%%%\"}}",
        "{\"return\":{\"exited\":true,\"signal\":9}}",
    };
    struct helper_status status;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        struct fake_guest guest = {.status = statuses[i]};
        struct error err = ERROR_INIT;
        size_t typed;
        assert_int_equal(enter(&guest, "x", NULL, 5000, &typed, &err), -1);
        assert_int_equal(err.code, ERROR_GUEST_FAILED);
        assert_int_equal(typed, 0);
        free(guest.input);
    }
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *large = malloc(200000);
    memset(large, ' ', 199999);
    large[199999] = '\0';
    memcpy(large, "{\"return\":{\"exited\":false}}", 27);
    assert_int_equal(helper_read_status(large, 1, &status, &err), -1);

    static const char *const starts[] = {"", "{\"return\":{}}", "{\"return\":{\"pid\":0}}",
                                         "{\"return\":{\"pid\":\"7\"}}"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        struct fake_guest guest = {.start = starts[i]};
        struct error reason = ERROR_INIT;
        size_t typed;
        assert_int_equal(enter(&guest, "x", NULL, 5000, &typed, &reason), -1);
        assert_int_equal(reason.code, ERROR_GUEST_FAILED);
        assert_int_equal(guest.looks, 0);
        free(guest.input);
    }
}

static void test_cancelled_half_way(void **state)
{
    (void)state;
    struct fake_guest guest = {.looks_until_end = 1000,
                               .last_words = "{\"ok\":false,\"typed\":2,\"error\":\"released\"}"};
    struct error err = ERROR_INIT;
    size_t typed;
    assert_int_equal(enter(&guest, "abcd", at_third_look, 5000, &typed, &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    assert_int_equal(typed, 2);
    assert_int_equal(guest.releases, 1);
    assert_int_equal(guest.looks, 4);
    free(guest.input);
}

/* The helper was done when it was told to stop: nothing failed. */
static void test_cancelled_too_late(void **state)
{
    (void)state;
    struct fake_guest guest = {.looks_until_end = 1000, .last_words = "{\"ok\":true}"};
    struct error err = ERROR_INIT;
    size_t typed;
    assert_int_equal(enter(&guest, "abcd", at_third_look, 5000, &typed, &err), 0);
    assert_int_equal(typed, 4);
    free(guest.input);
}

static void test_deadline(void **state)
{
    (void)state;
    struct fake_guest guest = {.looks_until_end = 1000,
                               .last_words = "{\"ok\":false,\"typed\":1,\"error\":\"released\"}"};
    struct error err = ERROR_INIT;
    size_t typed;
    int64_t start_ms = clock_monotonic_ms();
    assert_int_equal(enter(&guest, "abcd", NULL, 60, &typed, &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    assert_int_equal(typed, 1);
    assert_int_equal(guest.releases, 1);
    assert_in_range(clock_monotonic_ms() - start_ms, 50, 2000);
    free(guest.input);
}

static void test_silent_agent(void **state)
{
    (void)state;
    struct fake_guest guest = {.silent = true};
    struct error err = ERROR_INIT;
    size_t typed;
    assert_int_equal(enter(&guest, "abcd", NULL, 1000, &typed, &err), -1);
    assert_int_equal(err.code, ERROR_GUEST_FAILED);
    assert_int_equal(guest.starts, 0);
}

/* Bounds of the public calls: refused before anybody is asked (the connection's driver is none that could
 * be). */
static void test_bounds(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP_HYPERVISOR struct hypervisor *hypervisor = hypervisor_new("test:///default", &err);
    struct guest guest = guest_any_run(hypervisor, "6695eb01-f6a4-8304-79aa-97f2502e193f");
    size_t typed = 1;
    assert_int_equal(guest_helper_type(&guest, "", 0, NULL, NULL, CLOCK_NEVER, &typed, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    assert_int_equal(typed, 0);
    static const char *const wrong[] = {"\xff", "a\xc3", "\xed\xa0\x80"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        err = (struct error)ERROR_INIT;
        assert_int_equal(
            guest_helper_type(&guest, wrong[i], strlen(wrong[i]), NULL, NULL, CLOCK_NEVER, &typed, &err), -1);
        assert_int_equal(err.code, ERROR_BAD_REQUEST);
    }
    static const int counts[] = {0, 4, -1};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        err = (struct error)ERROR_INIT;
        assert_int_equal(guest_helper_click(&guest, 1, 1, HELPER_BACK, counts[i], CLOCK_NEVER, &err), -1);
        assert_int_equal(err.code, ERROR_BAD_REQUEST);
    }
    err = (struct error)ERROR_INIT;
    assert_int_equal(guest_helper_scroll(&guest, 1, 1, -101, CLOCK_NEVER, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_is_entered),
        cmocka_unit_test(test_long_text_in_one_piece),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_strange_agents),
        cmocka_unit_test(test_cancelled_half_way),
        cmocka_unit_test(test_cancelled_too_late),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_silent_agent),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
