/* client.toml and the addresses that a client takes. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "config/client.h"
#include "config/url.h"

#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define KEY   "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="
#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char home[64];

static int make_home(void **state)
{
    (void)state;
    strcpy(home, "/tmp/berth-client-XXXXXX");
    return mkdtemp(home) ? 0 : -1;
}

static int remove_home(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *file = file_join(home, "client.toml");
    file_remove(file, &err);
    return rmdir(home);
}

static void test_round_trip(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char url[] = "http://127.0.0.1:7432/", token[] = TOKEN;
    const struct client_node node = {.url = url, .token = token};
    mode_t before = umask(0);
    assert_int_equal(client_config_add(home, &node, &err), 0);
    umask(before);
    CLEANUP_FREE char *file = file_join(home, "client.toml");
    struct stat info;
    assert_int_equal(stat(file, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    CLEANUP_CLIENT_CONFIG struct client_config *read = client_config_load(home, &err);
    assert_non_null(read);
    assert_string_equal(read->nodes[0].url, "http://127.0.0.1:7432");
    assert_string_equal(read->nodes[0].token, TOKEN);
}

static void test_not_paired(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    assert_null(client_config_load(home, &err));
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "run: berth pair"));
}

static void refused(const char *text, const char *part)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *file = file_join(home, "client.toml");
    assert_int_equal(file_write_atomic(file, 0600, text, strlen(text), &err), 0);
    assert_null(client_config_load(home, &err));
    assert_int_equal(err.code, ERROR_CONFIG);
    CLEANUP_FREE char *whole = text_format("%s%s", file, part);
    if (!text_starts(err.text, whole))
        fail_msg("\"%s\" does not start with \"%s\"", err.text, whole);
    assert_null(strstr(err.text, "5ec2e7"));
}

static void test_wrong_files(void **state)
{
    (void)state;
    refused("", ": the key \"url\" is missing; run: berth pair");
    refused("url = \"http://127.0.0.1:1\"\n", ": the key \"token\" is missing; run: berth pair");
    refused("token = \"" TOKEN "\"\n", ": the key \"url\" is missing; run: berth pair");
    refused("url = 1\n", ":1:7: \"url\" must be a string, not a whole number");
    refused("\ntoken = \"5ec2e7\"\n", ":2:9: \"token\" must be 64 hex digits; run: berth pair");
    refused("token = 0x5ec2e7\n", ":1:9: \"token\" must be a string, not a whole number");
    refused("url = \"http://example.org\"\n", ":1:7: \"http://example.org\" is not the address of a node");
    refused("uri = \"a\"\n", ":1:1: unknown key \"uri\"; the keys are \"url\", \"token\", \"node_id\", "
                             "\"public_key\" and \"nodes\"");
    refused("url\n", ":1:4: ");
#define USED "url = \"http://127.0.0.1:1\"\ntoken = \"" TOKEN "\"\n"
    refused(USED "nodes = 1\n", ":3:9: \"nodes\" must be a table, not a whole number");
    refused(USED "[nodes]\n\"http://127.0.0.1:2\" = 1\n",
            ":4:24: \"http://127.0.0.1:2\" must be a table, not a whole number");
    refused(USED "[nodes.\"http://example.org\"]\ntoken = \"" TOKEN "\"\n", ":3:");
    refused(USED "[nodes.\"http://127.0.0.1:2\"]\n", ":3:");
    refused(USED "[nodes.\"http://127.0.0.1:2\"]\ntoken = \"5ec2e7\"\n",
            ":4:9: \"token\" must be 64 hex digits; run: berth pair");
    refused(USED "[nodes.\"http://127.0.0.1:2\"]\nuri = 1\n",
            ":4:1: unknown key \"uri\"; the keys are \"token\", \"node_id\" and \"public_key\"");
    refused(USED "public_key = \"5ec2e7\"\n", ":3:14: \"public_key\" must be a key in base64");
}

static void add(const char *url, const char *token, const char *node_id, const char *key)
{
    struct error err = ERROR_INIT;
    const struct client_node node = {
        .url = (char *)url, .token = (char *)token, .node_id = (char *)node_id, .public_key = (char *)key};
    if (client_config_add(home, &node, &err) < 0)
        fail_msg("%s", err.text);
}

/* A token is for the URL that it was got at, and for no other. */
static void test_several_nodes(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    add("http://127.0.0.1:1", TOKEN, OTHER, KEY);
    add("http://127.0.0.1:2/", OTHER, NULL, NULL);
    add("http://[::1]:3", TOKEN, TOKEN, KEY);
    add("http://127.0.0.1:2", TOKEN, TOKEN, KEY); /* in place of the first of that URL */
    CLEANUP_CLIENT_CONFIG struct client_config *read = client_config_load(home, &err);
    assert_non_null(read);
    assert_int_equal(read->count, 3);
    assert_string_equal(read->nodes[0].url, "http://127.0.0.1:2");
    assert_string_equal(client_config_find(read, NULL, &err)->url, "http://127.0.0.1:2");
    assert_string_equal(client_config_find(read, "http://127.0.0.1:2", &err)->node_id, TOKEN);
    const struct client_node *first = client_config_find(read, "http://127.0.0.1:1", &err);
    assert_string_equal(first->token, TOKEN);
    assert_string_equal(first->node_id, OTHER);
    assert_string_equal(first->public_key, KEY);
    assert_non_null(client_config_find(read, "http://[::1]:3", &err));
    assert_null(client_config_find(read, "http://127.0.0.1:4", &err));
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "berth pair --url http://127.0.0.1:4"));
}

static void test_as_many_as_fit(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    for (int port = 1; port <= CLIENT_NODES_MAX + 3; port++) {
        CLEANUP_FREE char *url = url_make("127.0.0.1", (unsigned)port);
        add(url, TOKEN, TOKEN, KEY);
    }
    CLEANUP_CLIENT_CONFIG struct client_config *read = client_config_load(home, &err);
    assert_non_null(read);
    assert_int_equal(read->count, CLIENT_NODES_MAX);
    assert_null(client_config_find(read, "http://127.0.0.1:1", &err)); /* the oldest has gone */
}

static void test_saving_nonsense(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char url[] = "http://127.0.0.1:1", wide[] = "http://10.0.0.1:1", token[] = TOKEN, bad[] = "a\"b";
    assert_int_equal(client_config_add(home, &(struct client_node){.url = wide, .token = token}, &err), -1);
    assert_int_equal(client_config_add(home, &(struct client_node){.url = url, .token = bad}, &err), -1);
    CLEANUP_FREE char *file = file_join(home, "client.toml");
    assert_int_equal(access(file, F_OK), -1);
}

static void test_urls(void **state)
{
    (void)state;
    static const char *const good[][2] = {
        {"http://127.0.0.1:7432", "http://127.0.0.1:7432"},
        {"http://127.0.0.1:7432/", "http://127.0.0.1:7432"},
        {"http://127.9.8.7", "http://127.9.8.7"},
        {"http://localhost:1", "http://localhost:1"},
        {"http://[::1]:65535/", "http://[::1]:65535"},
    };
    static const char *const bad[] = {
        "",
        "127.0.0.1:7432",
        "https://127.0.0.1:7432",
        "HTTP://127.0.0.1",
        "http://",
        "http:///",
        "http://0.0.0.0:1",
        "http://10.0.0.1:1",
        "http://example.org:1",
        "http://localhost.example.org:1",
        "http://127.0.0.1@example.org:1",
        "http://user:pw@127.0.0.1:1",
        "http://127.0.0.1:0",
        "http://127.0.0.1:65536",
        "http://127.0.0.1:",
        "http://127.0.0.1:-1",
        "http://127.0.0.1:1/v1",
        "http://127.0.0.1:1//",
        "http://127.0.0.1?x",
        "http://127.0.0.1#x",
        "http://::1:80",
        "http://[::1",
        "http://[]:1",
        "http://[",
        "http://[127.0.0.1]:1",
        "http://[::1]x:1",
        "http://127.0.0.1:1 ",
        "file:///etc/passwd",
    };
    struct error err = ERROR_INIT;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        CLEANUP_FREE char *url = url_read(good[i][0], &err);
        if (!url)
            fail_msg("%s was refused: %s", good[i][0], err.text);
        assert_string_equal(url, good[i][1]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CLEANUP_FREE char *url = url_read(bad[i], &err);
        if (url)
            fail_msg("%s was taken as %s", bad[i], url);
        assert_int_equal(err.code, ERROR_CONFIG);
    }
    CLEANUP_FREE char *v4 = url_make("127.0.0.1", 7432);
    CLEANUP_FREE char *v6 = url_make("::1", 80);
    assert_string_equal(v4, "http://127.0.0.1:7432");
    assert_string_equal(v6, "http://[::1]:80");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, make_home, remove_home),
        cmocka_unit_test_setup_teardown(test_not_paired, make_home, remove_home),
        cmocka_unit_test_setup_teardown(test_wrong_files, make_home, remove_home),
        cmocka_unit_test_setup_teardown(test_several_nodes, make_home, remove_home),
        cmocka_unit_test_setup_teardown(test_as_many_as_fit, make_home, remove_home),
        cmocka_unit_test_setup_teardown(test_saving_nonsense, make_home, remove_home),
        cmocka_unit_test(test_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
