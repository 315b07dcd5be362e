/* The node's key and id: made once, kept, refused when somebody else could have written them. */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/process.h"
#include "config/identity.h"

struct home {
    char path[64], key[96];
};

static int setup(void **state)
{
    struct home *home = calloc(1, sizeof *home);
    snprintf(home->path, sizeof home->path, "/tmp/berthos-unit-XXXXXX");
    if (!mkdtemp(home->path))
        return -1;
    snprintf(home->key, sizeof home->key, "%s/node.key", home->path);
    *state = home;
    return 0;
}

static int teardown(void **state)
{
    struct home *home = *state;
    unlink(home->key);
    int left = rmdir(home->path); /* also shows that no temporary file is left */
    free(home);
    return left;
}

static void test_made_once(void **state)
{
    struct home *home = *state;
    struct identity first = {0}, second = {0};
    struct error err = ERROR_INIT;
    struct stat info;
    assert_int_equal(identity_load(home->path, &first, &err), 0);
    assert_true(digest_valid(first.node_id));
    assert_int_equal(stat(home->key, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(info.st_nlink, 1);
    assert_int_equal(identity_load(home->path, &second, &err), 0);
    assert_string_equal(first.node_id, second.node_id);
    assert_int_equal(unlink(home->key), 0);
    assert_int_equal(identity_load(home->path, &second, &err), 0);
    assert_string_not_equal(first.node_id, second.node_id);
}

/* RFC 8410 section 10.3: the example key and the public key that belongs to it. */
static void test_known_key(void **state)
{
    struct home *home = *state;
    static const char pem[] = "-----BEGIN PRIVATE KEY-----\n"
                              "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
                              "-----END PRIVATE KEY-----\n";
    /* MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE= */
    static const unsigned char public_key[] = {
        0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00, 0x19, 0xbf, 0x44,
        0x09, 0x69, 0x84, 0xcd, 0xfe, 0x85, 0x41, 0xba, 0xc1, 0x67, 0xdc, 0x3b, 0x96, 0xc8, 0x50,
        0x86, 0xaa, 0x30, 0xb6, 0xb6, 0xcb, 0x0c, 0x5c, 0x38, 0xad, 0x70, 0x31, 0x66, 0xe1};
    char wanted[DIGEST_HEX_SIZE];
    struct identity identity;
    struct error err = ERROR_INIT;
    digest_buffer(public_key, sizeof public_key, wanted);
    assert_int_equal(file_write_atomic(home->key, 0600, pem, strlen(pem), &err), 0);
    assert_int_equal(identity_load(home->path, &identity, &err), 0);
    assert_string_equal(identity.node_id, wanted);
}

static void test_refused(void **state)
{
    struct home *home = *state;
    struct identity identity;
    struct error err = ERROR_INIT;
    assert_int_equal(file_write_atomic(home->key, 0600, "no key", 6, &err), 0);
    assert_int_equal(identity_load(home->path, &identity, &err), -1);
    assert_int_equal(err.code, ERROR_CONFIG);
    assert_non_null(strstr(err.text, "not an Ed25519 key"));

    assert_int_equal(unlink(home->key), 0);
    assert_int_equal(identity_load(home->path, &identity, &err), 0);
    assert_int_equal(chmod(home->key, 0640), 0);
    assert_int_equal(identity_load(home->path, &identity, &err), -1);
    assert_non_null(strstr(err.text, "chmod 600"));

    assert_int_equal(unlink(home->key), 0);
    assert_int_equal(symlink("/dev/null", home->key), 0);
    assert_int_equal(identity_load(home->path, &identity, &err), -1);
    assert_int_equal(err.code, ERROR_CONFIG);
    assert_int_equal(identity_load("/nonexistent", &identity, &err), -1);
}

static void *load(void *argument)
{
    struct home *home = argument;
    struct identity *identity = calloc(1, sizeof *identity);
    struct error err = ERROR_INIT;
    if (identity_load(home->path, identity, &err) < 0)
        fprintf(stderr, "%s\n", err.text);
    return identity;
}

static void test_race(void **state)
{
    struct home *home = *state;
    for (int round = 0; round < 20; round++) {
        enum { RACERS = 8 };
        pthread_t threads[RACERS];
        struct identity *found[RACERS];
        unlink(home->key);
        for (int i = 0; i < RACERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, load, home), 0);
        for (int i = 0; i < RACERS; i++)
            pthread_join(threads[i], (void **)&found[i]);
        for (int i = 0; i < RACERS; i++) {
            assert_true(digest_valid(found[i]->node_id));
            assert_string_equal(found[i]->node_id, found[0]->node_id);
        }
        for (int i = 0; i < RACERS; i++)
            free(found[i]);
    }
}

#define NONCE  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NONCE2 "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_proof(void **state)
{
    struct home *home = *state;
    struct identity identity;
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *key = NULL;
    CLEANUP_FREE char *signature = NULL;
    CLEANUP_FREE char *again = NULL;
    CLEANUP_FREE char *none = NULL;
    char node_id[DIGEST_HEX_SIZE];
    assert_int_equal(identity_load(home->path, &identity, &err), 0);
    assert_int_equal(identity_prove(home->path, NONCE, &key, &signature, &err), 0);
    assert_int_equal(identity_prove(home->path, NULL, &again, &none, &err), 0);
    assert_null(none);
    assert_string_equal(key, again);
    assert_true(identity_of(key, node_id));
    assert_string_equal(node_id, identity.node_id);
    assert_int_equal(identity_check(identity.node_id, NONCE, key, signature, &err), 0);
    assert_int_equal(identity_check(identity.node_id, NONCE2, key, signature, &err),
                     -1); /* of another question */
    assert_int_equal(err.code, ERROR_FORBIDDEN);
    assert_int_equal(identity_check(NONCE, NONCE, key, signature, &err), -1); /* of another node */
    assert_int_equal(identity_check(identity.node_id, NONCE, key, "AAAA", &err), -1);
    assert_int_equal(identity_check(identity.node_id, NONCE, key, "", &err), -1);
    assert_int_equal(identity_check(identity.node_id, NONCE, "AAAA", signature, &err), -1);
    assert_false(identity_of("not base64!", node_id));
    signature[0] = signature[0] == 'A' ? 'B' : 'A';
    assert_int_equal(identity_check(identity.node_id, NONCE, key, signature, &err), -1);
}

int main(void)
{
#define WITH_HOME(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_HOME(test_made_once),
        WITH_HOME(test_known_key),
        WITH_HOME(test_refused),
        WITH_HOME(test_race),
        cmocka_unit_test_setup_teardown(test_proof, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
