#include "mcp/node.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/client.h"
#include "config/home.h"
#include "config/url.h"
#include "session.h"

enum { IDLE_MAX = 8 };

struct mcp_node {
    const char *url_option, *lease_option; /* borrowed; NULL when not given */
    mcp_node_send *send;                   /* NULL but in tests */
    void *send_context;

    pthread_mutex_t mutex; /* guards what follows, and `client` of each stop; never held over a request */
    char *url, *token, *node_id; /* of the pairing that the connections below belong to. Owned */
    struct client *idle[IDLE_MAX];
    size_t idle_count;
    unsigned pairing; /* counts the pairings seen */
    char *lease;      /* the chosen one; NULL for none yet. Owned */
    char *ended;      /* see mcp_node_ended(). Owned */
    struct mcp_scale scale;
};

struct mcp_node *mcp_node_new(const char *url, const char *lease)
{
    struct mcp_node *node = memory_new(sizeof *node);
    node->url_option = url;
    node->lease_option = lease;
    pthread_mutex_init(&node->mutex, NULL);
    return node;
}

struct mcp_node *mcp_node_new_for_test(const char *lease, mcp_node_send *send, void *context)
{
    struct mcp_node *node = mcp_node_new(NULL, lease);
    node->send = send;
    node->send_context = context;
    return node;
}

static void drop_idle(struct mcp_node *node)
{
    while (node->idle_count > 0)
        client_free(node->idle[--node->idle_count]);
}

void mcp_node_free(struct mcp_node *node)
{
    if (!node)
        return;
    drop_idle(node);
    pthread_mutex_destroy(&node->mutex);
    free(node->url);
    free(node->token);
    free(node->node_id);
    free(node->lease);
    free(node->ended);
    free(node);
}

static void forget_lease(struct mcp_node *node)
{
    free(TAKE(node->lease));
    node->scale = (struct mcp_scale){0};
}

static bool are_same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* Takes over what is paired now; another node or token than before begins afresh. Called with the mutex held.
 */
static void adopt_pairing(struct mcp_node *node, const struct client_node *paired)
{
    if (are_same(node->url, paired->url) && are_same(node->token, paired->token))
        return;
    drop_idle(node);
    forget_lease(node);
    node->pairing++;
    free(TAKE(node->ended));
    free(node->url);
    free(node->token);
    free(node->node_id);
    node->url = text_copy(paired->url);
    node->token = text_copy(paired->token);
    node->node_id = text_copy(paired->node_id);
}

/* A connection for one request, known to `stop` from now on. *Owned*; NULL with the fault. */
static struct client *take_client(struct mcp_node *node, struct mcp_stop *stop, struct mcp_fault *fault)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *home = config_home();
    CLEANUP_FREE char *url = node->url_option ? url_read(node->url_option, &err) : NULL;
    if (node->url_option && !url) {
        mcp_fault_set(fault, "node_down");
        return NULL;
    }
    CLEANUP_CLIENT_CONFIG struct client_config *client = client_config_load(home, &err);
    const struct client_node *paired = client ? client_config_find(client, url, &err) : NULL;
    if (!paired) {
        mcp_fault_set(fault, err.code == ERROR_NOT_FOUND ? "not_paired" : "client_config");
        return NULL;
    }
    LOCK_SCOPE(&node->mutex);
    adopt_pairing(node, paired);
    struct client *taken = node->idle_count > 0 ? node->idle[--node->idle_count]
                                                : client_new(node->url, node->token, node->node_id);
    stop->client = taken;
    stop->pairing = node->pairing;
    return taken;
}

/* Keeps the connection for the next request, unless it is of an earlier pairing. */
static void give_client(struct mcp_node *node, struct mcp_stop *stop, struct client *client, bool keep)
{
    LOCK_SCOPE(&node->mutex);
    stop->client = NULL;
    if (keep && stop->pairing == node->pairing && node->idle_count < IDLE_MAX)
        node->idle[node->idle_count++] = client;
    else
        client_free(client);
}

int mcp_node_ask(struct mcp_node *node, struct mcp_stop *stop, struct client_request *request,
                 struct client_answer *answer, struct mcp_fault *fault)
{
    struct error err = ERROR_INIT;
    char word[CLIENT_WORD_SIZE] = "";
    struct client *client = node->send ? NULL : take_client(node, stop, fault);
    if (!node->send && !client)
        return -1;
    request->cancel = &stop->stopped;
    request->refusal = word;
    int status = client ? client_send(client, request, answer, &err)
                        : node->send(node->send_context, request, answer, &err);
    if (client) /* one that failed half way is not worth keeping */
        give_client(node, stop, client, status == 0 || word[0]);
    request->refusal = NULL;
    if (status == 0)
        return 0;
    return mcp_fault_from_node(fault, word, &err);
}

json_t *mcp_node_ask_json(struct mcp_node *node, struct mcp_stop *stop, struct client_request *request,
                          struct mcp_fault *fault)
{
    struct error ignored = ERROR_INIT;
    CLEANUP_CLIENT_ANSWER struct client_answer answer = {0};
    if (mcp_node_ask(node, stop, request, &answer, fault) < 0)
        return NULL;
    json_t *document = document_parse(answer.data, answer.size, &ignored);
    if (!document)
        mcp_fault_set(fault, "connection_lost");
    return document;
}

json_t *mcp_node_ask_lease(struct mcp_node *node, struct mcp_stop *stop, const char *lease, const char *what,
                           struct client_request *request, struct mcp_fault *fault)
{
    CLEANUP_FREE char *path = text_format("/v1/leases/%s%s", lease, what);
    request->path = path;
    json_t *document = mcp_node_ask_json(node, stop, request, fault);
    request->path = NULL;
    if (!document)
        mcp_node_check_lease(node, stop, lease, fault);
    return document;
}

/* The only live lease of this token. *Owned*. */
static char *find_lease(struct mcp_node *node, struct mcp_stop *stop, struct mcp_fault *fault)
{
    struct client_request request = {.method = "GET", .path = "/v1/leases", .timeout_ms = CLIENT_TIMEOUT_MS};
    CLEANUP_JSON json_t *leases = mcp_node_ask_json(node, stop, &request, fault);
    const char *id = session_only_lease(leases);
    if (leases && !id)
        mcp_fault_set(fault, !json_is_array(leases)        ? "connection_lost"
                             : json_array_size(leases) > 1 ? "several_leases"
                                                           : "no_lease");
    return text_copy(id);
}

char *mcp_node_lease(struct mcp_node *node, struct mcp_stop *stop, struct mcp_fault *fault)
{
    if (node->lease_option)
        return text_copy(node->lease_option);
    pthread_mutex_lock(&node->mutex);
    char *chosen = text_copy(node->lease);
    pthread_mutex_unlock(&node->mutex);
    if (chosen)
        return chosen;
    CLEANUP_FREE char *found = find_lease(node, stop, fault);
    if (!found)
        return NULL;
    LOCK_SCOPE(&node->mutex);
    free(TAKE(node->ended));
    if (!node->lease)
        node->lease = TAKE(found);
    return text_copy(node->lease);
}

void mcp_node_check_lease(struct mcp_node *node, struct mcp_stop *stop, const char *lease,
                          struct mcp_fault *fault)
{
    static const char *const sure[] = {"bad_request", "untypable",    "frame_changed", "not_paired",
                                       "node_down",   "unauthorized", "guest_paused",  NULL};
    for (size_t i = 0; sure[i]; i++)
        if (strcmp(fault->code, sure[i]) == 0)
            return;
    bool ended = strcmp(fault->code, "lease_ended") == 0;
    if (!ended && !atomic_load(&stop->stopped)) {
        struct mcp_fault other = MCP_FAULT_INIT;
        CLEANUP_FREE char *path = text_format("/v1/leases/%s", lease);
        struct client_request request = {.method = "GET", .path = path, .timeout_ms = CLIENT_TIMEOUT_MS};
        CLEANUP_JSON json_t *document = mcp_node_ask_json(node, stop, &request, &other);
        ended = !document && strcmp(other.code, "lease_ended") == 0;
    }
    if (!ended)
        return;
    mcp_fault_set(fault, "lease_ended");
    LOCK_SCOPE(&node->mutex);
    if (are_same(node->lease, lease) || node->lease_option)
        forget_lease(node);
}

void mcp_node_lease_ended(struct mcp_node *node, const char *lease)
{
    LOCK_SCOPE(&node->mutex);
    forget_lease(node);
    free(node->ended);
    node->ended = text_copy(lease);
}

char *mcp_node_ended(struct mcp_node *node)
{
    LOCK_SCOPE(&node->mutex);
    return node->lease ? NULL : text_copy(node->ended);
}

void mcp_node_stop(struct mcp_node *node, struct mcp_stop *stop)
{
    LOCK_SCOPE(&node->mutex);
    atomic_store(&stop->stopped, true);
    if (stop->client)
        client_wake(stop->client);
}

struct mcp_scale mcp_node_scale(struct mcp_node *node)
{
    LOCK_SCOPE(&node->mutex);
    return node->scale;
}

void mcp_node_set_scale(struct mcp_node *node, const struct mcp_scale *scale)
{
    LOCK_SCOPE(&node->mutex);
    node->scale = *scale;
}
