#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "config/client.h"
#include "config/config.h"
#include "config/home.h"
#include "config/url.h"
#include "documents.h"
#include "terminal.h"

char *session_own_url(const char *home, struct error *err)
{
    CLEANUP_CONFIG struct config *config = config_load(home, err);
    if (!config)
        return NULL;
    if (config->port == 0) {
        error_set(err, ERROR_CONFIG,
                  "%s lets the kernel choose the port: give the address that the node printed, "
                  "with --url",
                  config->path);
        return NULL;
    }
    CLEANUP_FREE char *url = url_make(config->bind, (unsigned)config->port);
    return url_read(url, err);
}

/* Takes what client.toml holds; not being paired is an error only where a token is needed. */
static int read_pairing(struct session *session, enum session_need need, struct error *err)
{
    struct error reason = ERROR_INIT;
    CLEANUP_CLIENT_CONFIG struct client_config *paired = client_config_load(session->home, &reason);
    if (paired) {
        session->url = TAKE(paired->url);
        session->token = TAKE(paired->token);
        return 0;
    }
    if (need == SESSION_ANYBODY && reason.code == ERROR_NOT_FOUND)
        return 0;
    *err = reason;
    return -1;
}

struct session *session_open(const char *url, enum session_need need, struct error *err)
{
    CLEANUP_SESSION struct session *session = calloc(1, sizeof *session);
    if (!session)
        abort();
    session->home = config_home();
    CLEANUP_FREE char *asked = url ? url_read(url, err) : NULL;
    if ((url && !asked) || read_pairing(session, need, err) < 0)
        return NULL;
    if (asked) {
        free(session->url);
        session->url = TAKE(asked);
    }
    if (!session->url)
        session->url = session_own_url(session->home, err);
    if (!session->url)
        return NULL;
    session->client = client_new(session->url, session->token);
    return TAKE(session);
}

bool session_lease_ok(const char *id)
{
    return text_starts(id, "l_") && text_is_hex(id + 2, 32);
}

/* "l_..., l_... and others": a list that fits a sentence. */
static char *names_of(const json_t *leases)
{
    enum { SHOWN_MAX = 8 };
    char *list = text_copy("");
    size_t i;
    const json_t *lease;
    json_array_foreach(leases, i, lease)
    {
        const char *id = json_string_value(json_object_get(lease, "id"));
        CLEANUP_FREE char *before = list;
        list = text_format("%s%s%s", before, i ? ", " : "", i < SHOWN_MAX && id ? id : "...");
        if (i >= SHOWN_MAX)
            break;
    }
    return list;
}

char *session_lease(struct session *session, const char *given, struct error *err)
{
    if (given)
        return text_copy(given);
    struct client_request request = {.method = "GET", .path = "/v1/leases", .timeout_ms = CLIENT_TIMEOUT_MS};
    CLEANUP_JSON json_t *leases = client_ask(session->client, &request, err);
    if (!leases)
        return NULL;
    size_t count = json_array_size(leases);
    const char *id = json_string_value(json_object_get(json_array_get(leases, 0), "id"));
    if (count == 1 && id && session_lease_ok(id))
        return text_copy(id);
    if (count == 0) {
        error_set(err, ERROR_NOT_FOUND, "no lease is live on %s; take one with: berth up", session->url);
        return NULL;
    }
    CLEANUP_FREE char *names = names_of(leases);
    error_set(err, ERROR_NOT_FOUND, "%zu leases are live on %s; say which is meant: %s", count, session->url,
              names);
    return NULL;
}

void session_free(struct session *session)
{
    if (!session)
        return;
    client_free(session->client);
    free(session->home);
    free(session->url);
    free(session->token);
    free(session);
}

int session_print_receipt(struct session *session, const char *method, const char *path, bool json)
{
    struct error err = ERROR_INIT;
    struct client_request request = {.method = method, .path = path, .timeout_ms = CLIENT_TIMEOUT_MS};
    CLEANUP_JSON json_t *receipt = client_ask(session->client, &request, &err);
    if (!receipt)
        return terminal_fail(&err);
    if (json)
        return terminal_document(receipt);
    documents_print_receipt(receipt);
    return EXIT_DONE;
}
