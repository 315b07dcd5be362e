/* Base64 against its specification. */
#include "unit.h"

#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"

/* RFC 4648 section 10 */
static void base64_of_its_specification(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"", ""},
                                          {"f", "Zg=="},
                                          {"fo", "Zm8="},
                                          {"foo", "Zm9v"},
                                          {"foob", "Zm9vYg=="},
                                          {"fooba", "Zm9vYmE="},
                                          {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CLEANUP_FREE char *text = base64_encode(rows[i][0], strlen(rows[i][0]));
        assert_string_equal(text, rows[i][1]);
    }
    CLEANUP_FREE char *high = base64_encode("\xff\xfe\xfd", 3);
    assert_string_equal(high, "//79");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(base64_of_its_specification),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
