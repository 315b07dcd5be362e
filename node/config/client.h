/* client.toml: where the client's commands find a node and the token that pairing gave (CONTRACT.md section
 * 1). */
#ifndef BERTHOS_CONFIG_CLIENT_H
#define BERTHOS_CONFIG_CLIENT_H

#include "base/cleanup.h"
#include "base/error.h"

struct client_config {
    char *url;   /* "http://127.0.0.1:7432", without a slash at its end */
    char *token; /* 64 hex digits; a secret */
};

/* Reads HOME/client.toml. ERROR_NOT_FOUND when not paired ("run: berth pair ..."), ERROR_CONFIG when it is
 * wrong. */
struct client_config *client_config_load(const char *home, struct error *err);

/* Writes HOME/client.toml, 0600 from birth, atomically. */
int client_config_save(const char *home, const struct client_config *client, struct error *err);

void client_config_free(struct client_config *client);
CLEANUP_DEFINE(client_config, struct client_config *, client_config_free);
#define CLEANUP_CLIENT_CONFIG CLEANUP(cleanup_client_config)

#endif
