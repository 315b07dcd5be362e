/*
 * Who this node is: an Ed25519 key in $BERTHOS_HOME/node.key (PKCS#8 PEM, 0600), made once, by whichever
 * program needs it first; its fingerprint is the node's id (CONTRACT.md section 1).
 */
#ifndef BERTHOS_CONFIG_IDENTITY_H
#define BERTHOS_CONFIG_IDENTITY_H

#include <stdbool.h>

#include "base/digest.h"
#include "base/error.h"

struct identity {
    char node_id[DIGEST_HEX_SIZE]; /* lower-case sha256 of the key's SubjectPublicKeyInfo (RFC 8410) in DER */
};

/*
 * Reads HOME/node.key, and makes it where there is none: of several that try at once one wins and all read
 * its key. HOME must be there (config_make_home()). 0, or -1 with ERROR_CONFIG when the file is not a private
 * file of this user or not an Ed25519 key, ERROR_INTERNAL when it cannot be written.
 */
int identity_load(const char *home, struct identity *identity, struct error *err);

#define IDENTITY_NONCE_SIZE 65 /* 64 hex digits and the terminator */

/*
 * Proves that this is the node: signs a nonce of 64 hex digits, in a message of its own kind, with
 * HOME/node.key. *public_key (SubjectPublicKeyInfo) and *signature (Ed25519, RFC 8032) are base64 and
 * *owned*; nonce NULL leaves *signature NULL. 0, or -1 as identity_load().
 */
int identity_prove(const char *home, const char *nonce, char **public_key, char **signature,
                   struct error *err);

/*
 * Whether a public key is that of the node with this id, and its signature of the nonce good. 0, or -1 with
 * ERROR_FORBIDDEN.
 */
int identity_check(const char *node_id, const char *nonce, const char *public_key, const char *signature,
                   struct error *err);

/* The id of the node that has this public key (base64). False when it is none. */
bool identity_of(const char *public_key, char node_id[DIGEST_HEX_SIZE]);

#endif
