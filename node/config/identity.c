#include "config/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/random.h"
#include "base/text.h"

enum { KEY_FILE_MAX = 4096 };

CLEANUP_DEFINE(x509_privkey, gnutls_x509_privkey_t, gnutls_x509_privkey_deinit);
CLEANUP_DEFINE(privkey, gnutls_privkey_t, gnutls_privkey_deinit);
CLEANUP_DEFINE(pubkey, gnutls_pubkey_t, gnutls_pubkey_deinit);

static void wipe_datum(gnutls_datum_t *datum)
{
    if (datum->data)
        gnutls_memset(datum->data, 0, datum->size);
    gnutls_free(datum->data);
}

/* GnuTLS's results are words already. */
static int check_result(int result, const char *what, struct error *err)
{
    return result >= 0 ? 0 : error_set(err, ERROR_INTERNAL, "cannot %s: %s", what, gnutls_strerror(result));
}

static int write_new(const char *temporary, const char *path, const gnutls_datum_t *pem, struct error *err)
{
    CLEANUP_CLOSE int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot create %s", temporary);
    /* link(), not rename(): the first of two that race wins, and nobody's key is ever replaced */
    if (write(fd, pem->data, pem->size) != (ssize_t)pem->size || fsync(fd) < 0 ||
        (link(temporary, path) < 0 && errno != EEXIST)) {
        int failure = errno;
        unlink(temporary);
        return error_set_errno(err, ERROR_INTERNAL, failure, "cannot write the node's key %s", path);
    }
    unlink(temporary);
    return 0;
}

static int make_key(const char *home, const char *path, struct error *err)
{
    CLEANUP(cleanup_x509_privkey) gnutls_x509_privkey_t key = NULL;
    CLEANUP(wipe_datum) gnutls_datum_t pem = {0};
    char suffix[17];
    random_hex(suffix, 8);
    CLEANUP_FREE char *temporary = text_format("%s.%s.tmp", path, suffix);
    if (check_result(gnutls_x509_privkey_init(&key), "make the node's key", err) < 0 ||
        check_result(gnutls_x509_privkey_generate(key, GNUTLS_PK_EDDSA_ED25519, 0, 0), "make the node's key",
                     err) < 0 ||
        check_result(
            gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &pem),
            "encode the node's key", err) < 0 ||
        write_new(temporary, path, &pem, err) < 0)
        return -1;
    CLEANUP_CLOSE int folder = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fsync(folder) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot sync the folder %s", home);
    return 0;
}

/* Reads the file, which must be private. Returns its size; -1 with *missing when there is none. */
static ssize_t read_key(const char *path, char buffer[KEY_FILE_MAX], bool *missing, struct error *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat info;
    *missing = fd < 0 && errno == ENOENT;
    if (*missing)
        return -1;
    if (fd < 0 || fstat(fd, &info) < 0)
        return error_set_errno(err, ERROR_CONFIG, errno, "cannot open the node's key %s", path);
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 0077))
        return error_set(
            err, ERROR_CONFIG,
            "the node's key %s is not a private file of this user (mode %04o, uid %u): run chown "
            "%u %s && chmod 600 %s",
            path, (unsigned)(info.st_mode & 07777), (unsigned)info.st_uid, (unsigned)geteuid(), path, path);
    ssize_t size = pread(fd, buffer, KEY_FILE_MAX, 0);
    if (size < 0)
        return error_set_errno(err, ERROR_CONFIG, errno, "cannot read the node's key %s", path);
    return size;
}

/* The key of the file's text, and its public half in DER. Both *owned*, NULL on failure. */
static int import_key(const char *path, char *text, size_t size, gnutls_privkey_t *key, gnutls_datum_t *der,
                      struct error *err)
{
    CLEANUP(cleanup_pubkey) gnutls_pubkey_t public_key = NULL;
    gnutls_datum_t pem = {.data = (unsigned char *)text, .size = (unsigned)size};
    if (check_result(gnutls_privkey_init(key), "read the node's key", err) < 0 ||
        check_result(gnutls_pubkey_init(&public_key), "read the node's key", err) < 0)
        return -1;
    int result = gnutls_privkey_import_x509_raw(*key, &pem, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN);
    if (result < 0 || gnutls_privkey_get_pk_algorithm(*key, NULL) != GNUTLS_PK_EDDSA_ED25519)
        return error_set(err, ERROR_CONFIG,
                         "%s is not an Ed25519 key in PKCS#8 PEM: put the node's key back, or move the file "
                         "away to become a new node with a new id",
                         path);
    if (check_result(gnutls_pubkey_import_privkey(public_key, *key, 0, 0), "read the node's key", err) < 0 ||
        check_result(gnutls_pubkey_export2(public_key, GNUTLS_X509_FMT_DER, der), "read the node's key",
                     err) < 0)
        return -1;
    return 0;
}

/* The key of a home, made where there is none. As import_key(). */
static int open_key(const char *home, gnutls_privkey_t *key, gnutls_datum_t *der, struct error *err)
{
    char text[KEY_FILE_MAX];
    bool missing;
    CLEANUP_FREE char *path = file_join(home, "node.key");
    ssize_t size = read_key(path, text, &missing, err);
    if (size < 0 && missing) {
        if (make_key(home, path, err) < 0)
            return -1;
        size = read_key(path, text, &missing, err);
        if (missing)
            return error_set(err, ERROR_INTERNAL, "the node's key %s went away as it was made: try again",
                             path);
    }
    if (size < 0)
        return -1;
    int result = import_key(path, text, (size_t)size, key, der, err);
    gnutls_memset(text, 0, sizeof text);
    return result;
}

int identity_load(const char *home, struct identity *identity, struct error *err)
{
    CLEANUP(cleanup_privkey) gnutls_privkey_t key = NULL;
    CLEANUP(wipe_datum) gnutls_datum_t der = {0};
    if (open_key(home, &key, &der, err) < 0)
        return -1;
    digest_buffer(der.data, der.size, identity->node_id);
    return 0;
}

/* --- proof ----------------------------------------------------------------------------------------- */

/* What is signed: a kind of message that nothing else of a node's signs. *Owned*. */
static char *proof_message(const char *nonce)
{
    return text_format("berthos key proof v1\n%s\n", nonce);
}

int identity_prove(const char *home, const char *nonce, char **public_key, char **signature,
                   struct error *err)
{
    CLEANUP(cleanup_privkey) gnutls_privkey_t key = NULL;
    CLEANUP(wipe_datum) gnutls_datum_t der = {0};
    CLEANUP(wipe_datum) gnutls_datum_t made = {0};
    *public_key = *signature = NULL;
    if (open_key(home, &key, &der, err) < 0)
        return -1;
    if (nonce) {
        CLEANUP_FREE char *message = proof_message(nonce);
        const gnutls_datum_t data = {.data = (unsigned char *)message, .size = (unsigned)strlen(message)};
        if (check_result(gnutls_privkey_sign_data2(key, GNUTLS_SIGN_EDDSA_ED25519, 0, &data, &made),
                         "sign with the node's key", err) < 0)
            return -1;
        *signature = base64_encode(made.data, made.size);
    }
    *public_key = base64_encode(der.data, der.size);
    return 0;
}

bool identity_of(const char *public_key, char node_id[DIGEST_HEX_SIZE])
{
    struct error ignored = ERROR_INIT;
    size_t size;
    CLEANUP_FREE unsigned char *der = base64_decode(public_key, &size, &ignored);
    if (!der)
        return false;
    digest_buffer(der, size, node_id);
    return true;
}

static bool is_signed(const char *nonce, const char *public_key, const char *signature)
{
    struct error ignored = ERROR_INIT;
    CLEANUP(cleanup_pubkey) gnutls_pubkey_t key = NULL;
    size_t der_size = 0, made_size = 0;
    CLEANUP_FREE unsigned char *der = base64_decode(public_key, &der_size, &ignored);
    CLEANUP_FREE unsigned char *made = base64_decode(signature, &made_size, &ignored);
    CLEANUP_FREE char *message = proof_message(nonce);
    const gnutls_datum_t data = {.data = (unsigned char *)message, .size = (unsigned)strlen(message)};
    const gnutls_datum_t spki = {.data = der, .size = (unsigned)der_size};
    const gnutls_datum_t sign = {.data = made, .size = (unsigned)made_size};
    return der && made && gnutls_pubkey_init(&key) >= 0 &&
           gnutls_pubkey_import(key, &spki, GNUTLS_X509_FMT_DER) >= 0 &&
           gnutls_pubkey_verify_data2(key, GNUTLS_SIGN_EDDSA_ED25519, 0, &data, &sign) >= 0;
}

int identity_check(const char *node_id, const char *nonce, const char *public_key, const char *signature,
                   struct error *err)
{
    char found[DIGEST_HEX_SIZE];
    if (!identity_of(public_key, found) || strcmp(found, node_id) != 0)
        return error_set(err, ERROR_FORBIDDEN, "the key is that of another node");
    if (!is_signed(nonce, public_key, signature))
        return error_set(err, ERROR_FORBIDDEN, "the signature is not that of the key");
    return 0;
}
