/* base/file.h: bounded reads, writes that are whole or not at all, modes from birth. */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

static int make_folder(void **state)
{
    char *folder = text_copy("/tmp/berthos-unit-file.XXXXXX");
    *state = mkdtemp(folder);
    return *state ? 0 : -1;
}

static int remove_folder(void **state)
{
    struct error err = ERROR_INIT;
    unit_end(state);
    const char *const argv[] = {"rm", "-rf", *state, NULL};
    int failed = process_run(argv, 10000, NULL, &err);
    free(*state);
    return failed;
}

static size_t entries(const char *folder)
{
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2; /* . and .. */
}

static mode_t mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 07777;
}

static void reads_what_was_written(void **state)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *path = file_join(*state, "a");
    CLEANUP_FREE char *data = NULL;
    size_t size = 0;
    static const char content[] = "one\0two\n";
    assert_int_equal(file_write_atomic(path, 0600, content, sizeof content - 1, &err), 0);
    assert_int_equal(file_read(path, sizeof content - 1, &data, &size, &err), 0);
    assert_int_equal(size, sizeof content - 1);
    assert_memory_equal(data, content, sizeof content); /* with the terminator */
    assert_int_equal(err.code, ERROR_NONE);
}

static void reads_empty_and_proc_files(void **state)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *path = file_join(*state, "empty");
    CLEANUP_FREE char *data = NULL;
    CLEANUP_FREE char *status = NULL;
    size_t size = 9;
    assert_int_equal(file_write_atomic(path, 0600, "", 0, &err), 0);
    assert_int_equal(file_read(path, 0, &data, &size, &err), 0);
    assert_int_equal(size, 0);
    assert_string_equal(data, "");
    /* st_size is 0 there: the size comes from reading */
    assert_int_equal(file_read("/proc/self/status", 1 << 20, &status, NULL, &err), 0);
    assert_non_null(strstr(status, "Threads:"));
}

static void refuses_the_byte_too_many(void **state)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *path = file_join(*state, "b");
    char *data = NULL;
    assert_int_equal(file_write_atomic(path, 0600, "12345", 5, &err), 0);
    assert_int_equal(file_read(path, 4, &data, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_null(data);
    assert_non_null(strstr(err.text, path));
}

static void tells_missing_from_unreadable(void **state)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *path = file_join(*state, "none");
    CLEANUP_FREE char *fifo = file_join(*state, "fifo");
    char *data = NULL;
    assert_int_equal(file_read(path, 10, &data, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(file_read(*state, 10, &data, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    /* a FIFO without a writer must not block the reader */
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(file_read(fifo, 10, &data, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_null(data);
}

/* The mode is the one asked for under any umask, and a replaced file takes the new one. */
static void mode_is_exact(void **state)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *path = file_join(*state, "m");
    mode_t before = umask(0);
    assert_int_equal(file_write_atomic(path, 0600, "x", 1, &err), 0);
    assert_int_equal(mode_of(path), 0600);
    umask(0777);
    assert_int_equal(file_write_atomic(path, 0640, "y", 1, &err), 0);
    assert_int_equal(mode_of(path), 0640);
    umask(before);
}

static void a_failed_write_keeps_the_old_and_leaves_nothing(void **state)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *folder = file_join(*state, "in-the-way");
    CLEANUP_FREE char *inside = file_join(folder, "kept");
    CLEANUP_FREE char *nowhere = file_join(*state, "missing/x");
    assert_int_equal(file_make_folder(folder, 0700, &err), 0);
    assert_int_equal(file_write_atomic(inside, 0600, "old", 3, &err), 0);
    /* rename() onto a folder fails after the temporary file was written whole */
    assert_int_equal(file_write_atomic(folder, 0600, "new", 3, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_int_equal(file_write_atomic(nowhere, 0600, "new", 3, &err), -1);
    assert_int_equal(entries(*state), 1);
    assert_int_equal(entries(folder), 1);
}

/* A symbolic link is replaced, not followed: what it points to is not ours. */
static void replaces_a_link(void **state)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *target = file_join(*state, "target");
    CLEANUP_FREE char *link = file_join(*state, "link");
    CLEANUP_FREE char *data = NULL;
    assert_int_equal(file_write_atomic(target, 0600, "target", 6, &err), 0);
    assert_int_equal(symlink(target, link), 0);
    assert_int_equal(file_write_atomic(link, 0600, "ours", 4, &err), 0);
    assert_int_equal(file_read(target, 100, &data, NULL, &err), 0);
    assert_string_equal(data, "target");
}

struct rewriting {
    pthread_t thread;
    char *path;
    atomic_bool stop;
};

enum { WHOLE = 64 * 1024 };

static void *rewrite(void *argument)
{
    struct rewriting *rewriting = argument;
    char *block = malloc(WHOLE);
    struct error err = ERROR_INIT;
    for (int turn = 0; !rewriting->stop; turn++) {
        memset(block, 'a' + turn % 26, WHOLE);
        if (file_write_atomic(rewriting->path, 0600, block, WHOLE, &err) < 0)
            break;
    }
    free(block);
    return NULL;
}

static void end_rewriting(void *argument)
{
    struct rewriting *rewriting = argument;
    rewriting->stop = true;
    pthread_join(rewriting->thread, NULL);
}

/* A reader beside a writer sees one whole version, never a mixture and never a missing file. */
static void readers_see_whole_versions(void **state)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *path = file_join(*state, "busy");
    struct rewriting *rewriting = unit_room(sizeof *rewriting);
    rewriting->path = unit_text(path);
    CLEANUP_FREE char *first = malloc(WHOLE);
    memset(first, 'z', WHOLE);
    assert_int_equal(file_write_atomic(path, 0600, first, WHOLE, &err), 0);
    assert_int_equal(pthread_create(&rewriting->thread, NULL, rewrite, rewriting), 0);
    at_end(end_rewriting, rewriting);
    for (int i = 0; i < 300; i++) {
        CLEANUP_FREE char *data = NULL;
        size_t size = 0;
        assert_int_equal(file_read(path, WHOLE, &data, &size, &err), 0);
        assert_int_equal(size, WHOLE);
        assert_true(memcmp(data, data + 1, WHOLE - 1) == 0);
    }
}

static void folders_have_their_mode(void **state)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *deep = file_join(*state, "p/q/r");
    CLEANUP_FREE char *parent = file_join(*state, "p/q");
    CLEANUP_FREE char *slashed = file_join(*state, "s/");
    CLEANUP_FREE char *plain = file_join(*state, "file");
    mode_t before = umask(077);
    assert_int_equal(file_make_folder(deep, 0711, &err), 0);
    umask(022);
    assert_int_equal(mode_of(deep), 0711);
    assert_int_equal(file_make_folder(deep, 0700, &err), 0); /* stays as it is */
    assert_int_equal(mode_of(deep), 0711);
    assert_int_equal(file_make_folder(slashed, 0700, &err), 0);
    assert_int_equal(mode_of(slashed), 0700);
    umask(before);
    assert_true((mode_of(parent) & 0700) == 0700);
    assert_int_equal(file_write_atomic(plain, 0600, "", 0, &err), 0);
    assert_int_equal(file_make_folder(plain, 0700, &err), -1);
    assert_non_null(strstr(err.text, plain));
}

/* What a kill left half written goes, by its name and age; nothing else does, whatever it is called. */
static void sweeps_what_a_crash_left(void **state)
{
    static const char *const kept[] = {"a.json",
                                       ".tmp",
                                       "a.tmp",
                                       "a.0123456789abcdeg.tmp",
                                       ".0123456789abcdef.tmp",
                                       "a.0123456789abcde.tmp",
                                       "a.0123456789abcdef.tmp.x"};
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *left = file_join(*state, "a.json.0123456789abcdef.tmp");
    CLEANUP_FREE char *folder = file_join(*state, "b.0123456789abcdef.tmp");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        CLEANUP_FREE char *path = file_join(*state, kept[i]);
        assert_int_equal(file_write_atomic(path, 0600, "", 0, &err), 0);
    }
    assert_int_equal(file_write_atomic(left, 0600, "", 0, &err), 0);
    assert_int_equal(file_make_folder(folder, 0700, &err), 0);
    assert_int_equal(file_sweep(*state, 60000), 0); /* somebody may be writing it */
    assert_int_equal(file_sweep(*state, 0), 1);
    assert_int_equal(access(left, F_OK), -1);
    assert_int_equal(entries(*state), sizeof kept / sizeof *kept + 1);
    assert_int_equal(file_sweep(left, 0), 0); /* no folder */
}

static void removes_and_joins(void **state)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *path = file_join(*state, "gone");
    CLEANUP_FREE char *joined = file_join("/a/", "b");
    CLEANUP_FREE char *relative = file_join("a", "b");
    assert_int_equal(file_write_atomic(path, 0600, "", 0, &err), 0);
    assert_int_equal(file_remove(path, &err), 0);
    assert_int_equal(file_remove(path, &err), 0);
    assert_int_equal(file_remove(*state, &err), -1);
    assert_string_equal(joined, "/a/b");
    assert_string_equal(relative, "a/b");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(reads_what_was_written),
        IN_FOLDER(reads_empty_and_proc_files),
        IN_FOLDER(refuses_the_byte_too_many),
        IN_FOLDER(tells_missing_from_unreadable),
        IN_FOLDER(mode_is_exact),
        IN_FOLDER(a_failed_write_keeps_the_old_and_leaves_nothing),
        IN_FOLDER(replaces_a_link),
        IN_FOLDER(readers_see_whole_versions),
        IN_FOLDER(folders_have_their_mode),
        IN_FOLDER(sweeps_what_a_crash_left),
        IN_FOLDER(removes_and_joins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
