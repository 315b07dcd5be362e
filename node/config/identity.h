/*
 * Who this node is: an Ed25519 key in $BERTHOS_HOME/node.key (PKCS#8 PEM, 0600), made once, by whichever
 * program needs it first; its fingerprint is the node's id (CONTRACT.md section 1).
 */
#ifndef BERTHOS_CONFIG_IDENTITY_H
#define BERTHOS_CONFIG_IDENTITY_H

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

#endif
