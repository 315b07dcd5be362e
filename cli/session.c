#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/client.h"
#include "config/config.h"
#include "config/home.h"
#include "config/url.h"
#include "protocol/lease.h"
#include "terminal.h"

/* The longest lists that a node gives: 10,000 leases, or as many pairings. */
enum { ANSWER_MAX_BYTES = 32 * 1024 * 1024 };

char *session_own_url(const char *home, struct error *err)
{
    CLEANUP_CONFIG struct config *config = config_load(home, err);
    if (!config)
        return NULL;
    if (config->port == 0) {
        error_set(err, ERROR_CONFIG,
                  "%s lets the kernel choose the port: give the address that the node printed, with --url",
                  config->path);
        return NULL;
    }
    CLEANUP_FREE char *url = url_make(config->bind, (unsigned)config->port);
    return url_read(url, err);
}

/*
 * Takes what client.toml holds of the node at that URL, NULL for the one in use. Not being paired is an error
 * only where a token is needed: a token goes nowhere but to the node that gave it.
 */
static int read_pairing(struct session *session, const char *home, const char *url, enum session_need need,
                        struct error *err)
{
    struct error reason = ERROR_INIT;
    CLEANUP_CLIENT_CONFIG struct client_config *client = client_config_load(home, &reason);
    const struct client_node *node = client ? client_config_find(client, url, &reason) : NULL;
    session->url = text_copy(node ? node->url : url);
    if (node) {
        session->token = text_copy(node->token);
        session->node_id = text_copy(node->node_id);
        return 0;
    }
    if (need == SESSION_NODE && reason.code == ERROR_NOT_FOUND)
        return 0;
    *err = reason;
    return -1;
}

const char *session_only_lease(const json_t *leases)
{
    const char *id = json_string_value(json_object_get(json_array_get(leases, 0), "id"));
    return json_array_size(leases) == 1 && id && lease_id_valid(id) ? id : NULL;
}

/* "l_..., l_... and others": a list that fits a sentence; NULL for an empty one. */
static char *list_leases(const json_t *leases)
{
    enum { SHOWN_MAX = 8 };
    struct text_buffer list = {0};
    for (size_t i = 0; i < json_array_size(leases) && i <= SHOWN_MAX; i++) {
        const char *id = json_string_value(json_object_get(json_array_get(leases, i), "id"));
        text_join(&list, ", ", "%s", i < SHOWN_MAX && id ? id : "...");
    }
    return list.text;
}

static char *find_lease(struct session *session, struct error *err)
{
    CLEANUP_JSON json_t *leases = session_ask(session, "GET", "/v1/leases", err);
    if (!leases)
        return NULL;
    const char *id = session_only_lease(leases);
    if (id)
        return text_copy(id);
    size_t count = json_array_size(leases);
    CLEANUP_FREE char *list = list_leases(leases);
    if (count == 0)
        error_set(err, ERROR_NOT_FOUND, "no lease is live on %s; take one with: berth up", session->url);
    else
        error_set(err, ERROR_NOT_FOUND, "%zu leases are live on %s; say which is meant: %s", count,
                  session->url, list);
    return NULL;
}

struct session *session_open(const char *url, const char *lease, enum session_need need, struct error *err)
{
    CLEANUP_SESSION struct session *session = memory_new(sizeof *session);
    CLEANUP_FREE char *home = config_home();
    CLEANUP_FREE char *asked = url ? url_read(url, err) : NULL;
    if ((url && !asked) || read_pairing(session, home, asked, need, err) < 0)
        return NULL;
    if (!session->url && !(session->url = session_own_url(home, err)))
        return NULL;
    session->client = client_new(session->url, session->token, session->node_id);
    if (need == SESSION_LEASE && !(session->lease = lease ? text_copy(lease) : find_lease(session, err)))
        return NULL;
    return TAKE(session);
}

void session_free(struct session *session)
{
    if (!session)
        return;
    client_free(session->client);
    free(session->url);
    free(session->token);
    free(session->node_id);
    free(session->lease);
    free(session);
}

json_t *session_ask(struct session *session, const char *method, const char *path, struct error *err)
{
    struct client_request request = {
        .method = method, .path = path, .timeout_ms = CLIENT_TIMEOUT_MS, .max_bytes = ANSWER_MAX_BYTES};
    return client_ask(session->client, &request, err);
}

int session_show(struct session *session, const char *method, const char *path, bool json,
                 void (*print)(const json_t *document), struct error *err)
{
    CLEANUP_JSON json_t *document = session_ask(session, method, path, err);
    if (!document)
        return -1;
    if (json)
        return terminal_document(document);
    print(document);
    return EXIT_DONE;
}
