/*
 * client.toml: the nodes that this user is paired with (CONTRACT.md section 1). `url` and `token` at the top
 * are of the one in use; further ones stand under [nodes."URL"]. A token is for the URL and the node that
 * gave it: who the node is, is pinned with it.
 */
#ifndef BERTHOS_CONFIG_CLIENT_H
#define BERTHOS_CONFIG_CLIENT_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"

#define CLIENT_NODES_MAX 64

/* One of them; all owned by the file's struct. */
struct client_node {
    char *url;   /* "http://127.0.0.1:7432", without a slash at its end */
    char *token; /* 64 hex digits; a secret */
    char
        *node_id; /* 64 hex digits; NULL where the pairing is of a time before pins, or the node has no key */
    char *public_key; /* base64, see config/identity.h; NULL likewise */
};

struct client_config {
    struct client_node nodes[CLIENT_NODES_MAX]; /* the first is the one in use */
    size_t count;                               /* 1 and more */
};

/* Reads HOME/client.toml. ERROR_NOT_FOUND when not paired ("run: berth pair ..."), ERROR_CONFIG when it is
 * wrong. */
struct client_config *client_config_load(const char *home, struct error *err);

/* The node of that URL (as url_read() gives it), the one in use for NULL. Borrowed. ERROR_NOT_FOUND when
 * there is no pairing with it. */
const struct client_node *client_config_find(const struct client_config *client, const char *url,
                                             struct error *err);

/*
 * Adds a pairing to HOME/client.toml, in place of one with the same URL, and makes it the one in use. The
 * file is 0600 from birth and written atomically. node: copied. A file that cannot be understood is replaced.
 */
int client_config_add(const char *home, const struct client_node *node, struct error *err);

void client_config_free(struct client_config *client);
CLEANUP_DEFINE(client_config, struct client_config *, client_config_free);
#define CLEANUP_CLIENT_CONFIG CLEANUP(cleanup_client_config)

#endif
