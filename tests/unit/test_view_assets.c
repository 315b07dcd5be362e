/* The files that a view serves. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "view/assets.h"

static char folder[] = "/tmp/berthos-assets-XXXXXX";

static void put(const char *name, const char *text)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *path = file_join(folder, name);
    assert_int_equal(file_write_atomic(path, 0644, text, strlen(text), &err), 0);
}

static int make_folder(void **state)
{
    (void)state;
    char inside[sizeof folder + 32];
    if (!mkdtemp(folder))
        return -1;
    snprintf(inside, sizeof inside, "%s/novnc", folder);
    mkdir(inside, 0755);
    snprintf(inside, sizeof inside, "%s/novnc/core", folder);
    mkdir(inside, 0755);
    put("page.html", "<html>");
    put("page.js", "script");
    put("page.css", "style");
    put(".hidden.js", "no");
    put("secret.key", "no");
    put("novnc/LICENSE.txt", "MPL");
    put("novnc/core/rfb.js", "rfb");
    snprintf(inside, sizeof inside, "%s/link.js", folder);
    return symlink("/etc/passwd", inside);
}

static int remove_folder(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    const char *const line[] = {"rm", "-rf", folder, NULL};
    return process_run(line, 10000, NULL, &err);
}

static void what_is_there(void **state)
{
    (void)state;
    static const char *const files[][3] = {
        {"page.html", "<html>", "text/html; charset=utf-8"},
        {"page.js", "script", "text/javascript; charset=utf-8"},
        {"page.css", "style", "text/css; charset=utf-8"},
        {"novnc/LICENSE.txt", "MPL", "text/plain; charset=utf-8"},
        {"novnc/core/rfb.js", "rfb", "text/javascript; charset=utf-8"},
    };
    CLEANUP(cleanup_assets) struct assets *assets = assets_open(folder);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct error err = ERROR_INIT;
        CLEANUP_FREE char *data = NULL;
        size_t size;
        const char *type;
        assert_int_equal(assets_read(assets, files[i][0], &data, &size, &type, &err), 0);
        assert_int_equal(size, strlen(files[i][1]));
        assert_string_equal(data, files[i][1]);
        assert_string_equal(type, files[i][2]);
    }
}

static void nothing_else(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "/",
        ".",
        "..",
        "../passwd",
        "novnc",
        "novnc/",
        "novnc/core",
        "novnc//core/rfb.js",
        "novnc/../page.js",
        "./page.js",
        "page.js/",
        "PAGE.JS",
        "/etc/passwd",
        "../../../../etc/passwd",
        "link.js",
        ".hidden.js",
        "secret.key",
        "page.js%00",
    };
    CLEANUP(cleanup_assets) struct assets *assets = assets_open(folder);
    put("later.js", "came after the walk");
    for (size_t i = 0; i <= sizeof names / sizeof names[0]; i++) {
        struct error err = ERROR_INIT;
        char *data = NULL;
        size_t size;
        const char *type, *name = i < sizeof names / sizeof names[0] ? names[i] : "later.js";
        if (assets_read(assets, name, &data, &size, &type, &err) == 0)
            fail_msg("\"%s\" is served", name);
        assert_int_equal(err.code, ERROR_NOT_FOUND);
    }
}

static void no_folder(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char *data;
    size_t size;
    const char *type;
    CLEANUP(cleanup_assets) struct assets *assets = assets_open("/nonexistent/view");
    assert_int_equal(assets_read(assets, "page.html", &data, &size, &type, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there),
        cmocka_unit_test(nothing_else),
        cmocka_unit_test(no_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
