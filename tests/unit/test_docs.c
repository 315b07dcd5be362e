/* docs/SESSION.md against the tables of the code: the error codes, and the ops of actions. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "protocol/action.h"
#include "protocol/error_words.h"

static char *read_session_md(void)
{
    struct error err = ERROR_INIT;
    char *text = NULL;
    CLEANUP_FREE char *path = file_join(getenv("BERTHOS_SOURCE_DIR"), "docs/SESSION.md");
    if (file_read(path, 1 << 20, &text, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return text;
}

/* The part of the document from one heading to the next of the same depth. */
static char *section(const char *document, const char *heading)
{
    const char *from = strstr(document, heading);
    assert_non_null(from);
    const char *to = strstr(from + strlen(heading), "\n## ");
    return text_format("%.*s", (int)(to ? to - from : (long)strlen(from)), from);
}

static void every_error_code_is_documented(void **state)
{
    (void)state;
    CLEANUP_FREE char *document = read_session_md();
    CLEANUP_FREE char *codes = section(document, "\n## Error codes");
    for (unsigned code = ERROR_INTERNAL; code < ERROR_CODE_COUNT; code++) {
        CLEANUP_FREE char *row =
            text_format("\n| `%s` | %u | ", protocol_error_word(code), protocol_error_status(code));
        if (!strstr(codes, row))
            fail_msg("docs/SESSION.md has no row %s", row + 1);
    }
}

static void no_other_error_code_is_documented(void **state)
{
    (void)state;
    CLEANUP_FREE char *document = read_session_md();
    CLEANUP_FREE char *codes = section(document, "\n## Error codes");
    for (char *at = strstr(codes, "\n| `"); at; at = strstr(at + 1, "\n| `")) {
        CLEANUP_FREE char *word = text_format("%.*s", (int)strcspn(at + 4, "`"), at + 4);
        if (protocol_error_code(word) == ERROR_INTERNAL && strcmp(word, "internal") != 0)
            fail_msg("docs/SESSION.md has a code that the node never answers: %s", word);
    }
}

static void every_op_is_documented(void **state)
{
    (void)state;
    CLEANUP_FREE char *document = read_session_md();
    CLEANUP_FREE char *acting = section(document, "\n## Acting");
    size_t count;
    const struct action_op *ops = action_ops(&count);
    assert_true(count >= 15);
    for (size_t i = 0; i < count; i++) {
        CLEANUP_FREE char *name = text_format("`%s`", ops[i].name);
        if (!strstr(acting, name))
            fail_msg("docs/SESSION.md does not name the op %s", name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_code_is_documented),
        cmocka_unit_test(no_other_error_code_is_documented),
        cmocka_unit_test(every_op_is_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
