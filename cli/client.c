#include "client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "config/identity.h"
#include "protocol/error_words.h"

enum {
    CONNECT_TIMEOUT_MS = 5000,
    ANSWER_MAX_BYTES = 1024 * 1024,
    TICK_MS = 1000,
};

struct client {
    CURL *curl;
    CURLM *multi;    /* holds the connection, and can be woken from another thread */
    char *url;       /* owned */
    char *token;     /* NULL for none. Owned */
    char *node_id;   /* pinned, or NULL. Owned */
    bool tokenless;  /* of the transfer: it carries no token, and any connection will do */
    int port;        /* our end of the connection that the transfer went out on */
    int proven_port; /* of the one on which the node has proven its key; 0 for none */
};

CLEANUP_DEFINE(slist, struct curl_slist *, curl_slist_free_all);

/* What the body of an answer grows in. */
struct body {
    struct text_buffer text;
    size_t max_bytes;
    bool too_large;
};

static void start_curl(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        abort();
}

struct client *client_new(const char *url, const char *token, const char *node_id)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_curl);
    struct client *client = memory_new(sizeof *client);
    if (!(client->curl = curl_easy_init()) || !(client->multi = curl_multi_init()))
        abort();
    client->url = text_copy(url);
    client->token = text_copy(token);
    client->node_id = text_copy(node_id);
    return client;
}

void client_free(struct client *client)
{
    if (!client)
        return;
    curl_easy_cleanup(client->curl);
    curl_multi_cleanup(client->multi);
    free(client->url);
    free(client->token);
    free(client->node_id);
    free(client);
}

void client_answer_clear(struct client_answer *answer)
{
    free(answer->type);
    free(answer->data);
    memset(answer, 0, sizeof *answer);
}

static size_t take_body(char *data, size_t size, size_t count, void *context)
{
    struct body *body = context;
    size_t more = size * count; /* curl: size is 1 */
    body->too_large = more > body->max_bytes - body->text.size;
    return !body->too_large && text_add(&body->text, data, more) ? more : 0;
}

static struct curl_slist *make_headers(const struct client *client, const struct client_request *request)
{
    struct curl_slist *list = NULL;
    if (client->token && !client->tokenless) {
        CLEANUP_FREE char *line = text_format("Authorization: Bearer %s", client->token);
        list = curl_slist_append(list, line);
    }
    if (request->body)
        list = curl_slist_append(list, "Content-Type: application/json");
    /* no "Expect: 100-continue": it costs a second with servers that do not answer it */
    return curl_slist_append(list, "Expect:");
}

/*
 * curl calls it when there is a connection, before the request goes out on it. Whoever holds the node's port
 * while the node is away must not get a token: so it goes out on the very connection that was proven.
 */
static int check_connection(void *context, char *their_address, char *our_address, int their_port,
                            int our_port)
{
    (void)their_address;
    (void)our_address;
    (void)their_port;
    struct client *client = context;
    client->port = our_port;
    bool secret = client->token && client->node_id && !client->tokenless;
    return secret && our_port != client->proven_port ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static void set_options(struct client *client, const struct client_request *request, struct body *body)
{
    CURL *curl = client->curl;
    curl_easy_reset(curl); /* the connection stays */
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "berth/" BERTHOS_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, request->timeout_ms);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
    curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, check_connection);
    curl_easy_setopt(curl, CURLOPT_PREREQDATA, client);
}

static int explain_failure(const struct client *client, const struct client_request *request, CURLcode code,
                           const struct body *body, struct error *err)
{
    if (body->too_large)
        return error_set(err, ERROR_TOO_LARGE, "the answer of %s to %s %s is larger than %zu bytes",
                         client->url, request->method, request->path, body->max_bytes);
    switch (code) {
    case CURLE_COULDNT_CONNECT:
        return error_set(err, ERROR_NOT_FOUND, "no node answers at %s; start one with: berth node up",
                         client->url);
    case CURLE_OPERATION_TIMEDOUT:
        return error_set(err, ERROR_TIMEOUT, "the node at %s did not answer %s %s in time (%ld s)",
                         client->url, request->method, request->path, request->timeout_ms / 1000);
    case CURLE_ABORTED_BY_CALLBACK:
        return error_set(err, ERROR_TIMEOUT, "interrupted");
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
        return error_set(
            err, ERROR_INTERNAL,
            "the node at %s closed the connection without a whole answer (%s); if it has stopped, "
            "start it with: berth node up",
            client->url, curl_easy_strerror(code));
    default:
        return error_set(err, ERROR_INTERNAL, "cannot ask the node at %s: %s", client->url,
                         curl_easy_strerror(code));
    }
}

/* A refusal: the node's own sentence, or that this is no node. */
static int read_refusal(const struct client *client, const struct client_request *request,
                        const struct client_answer *answer, struct error *err)
{
    struct error ignored = ERROR_INIT;
    const char *sentence, *word = "";
    CLEANUP_JSON json_t *document = document_parse(answer->data, answer->size, &ignored);
    if (!document || document_string(document, "error", &sentence, &ignored) < 0)
        return error_set(err, ERROR_INTERNAL, "what answers at %s is not a Berthos node (HTTP %ld)",
                         client->url, answer->status);
    document_maybe_string(document, "code", &word, &ignored);
    if (request->refusal)
        snprintf(request->refusal, CLIENT_WORD_SIZE, "%s", word[0] ? word : "internal");
    bool hint = answer->status == 401 && !strstr(sentence, "berth pair");
    return error_set(err, protocol_error_code(word), "%s%s", sentence, hint ? "; run: berth pair" : "");
}

/*
 * The transfer itself. A transfer that is taken out before its end closes its connection, and so tells the
 * node that nobody waits any more; one that has ended leaves it for the next request.
 */
static CURLcode run_transfer(struct client *client, const struct client_request *request)
{
    CURLcode code = CURLE_OK;
    int running = 0, left = 0;
    int tick_ms = request->tick_ms ? request->tick_ms : TICK_MS;
    int64_t next_tick_ms = clock_monotonic_ms() + tick_ms;
    if (curl_multi_add_handle(client->multi, client->curl) != CURLM_OK)
        return CURLE_FAILED_INIT;
    do {
        if (request->cancel && atomic_load(request->cancel)) {
            code = CURLE_ABORTED_BY_CALLBACK;
            break;
        }
        if (curl_multi_perform(client->multi, &running) != CURLM_OK ||
            (running && curl_multi_poll(client->multi, NULL, 0, tick_ms, NULL) != CURLM_OK))
            code = CURLE_FAILED_INIT;
        if (running && request->tick && clock_monotonic_ms() >= next_tick_ms) {
            request->tick(request->tick_context);
            next_tick_ms = clock_monotonic_ms() + tick_ms;
        }
    } while (running && code == CURLE_OK);
    const CURLMsg *message;
    while ((message = curl_multi_info_read(client->multi, &left)))
        if (message->msg == CURLMSG_DONE && code == CURLE_OK)
            code = message->data.result;
    curl_multi_remove_handle(client->multi, client->curl);
    return code;
}

/* What the answer's headers say, of those that are asked for. */
static void read_headers(CURL *curl, struct client_header *headers)
{
    for (struct client_header *header = headers; header && header->name; header++) {
        struct curl_header *found;
        header->value[0] = '\0';
        if (curl_easy_header(curl, header->name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK &&
            strlen(found->value) < sizeof header->value)
            snprintf(header->value, sizeof header->value, "%s", found->value);
    }
}

void client_wake(struct client *client)
{
    curl_multi_wakeup(client->multi);
}

static int send_request(struct client *client, const struct client_request *request,
                        struct client_answer *answer, struct error *err)
{
    struct body body = {.max_bytes = request->max_bytes ? request->max_bytes : ANSWER_MAX_BYTES};
    CLEANUP_FREE char *url = text_format("%s%s", client->url, request->path);
    CLEANUP_FREE char *text = request->body ? document_text(request->body) : NULL;
    CLEANUP(cleanup_slist) struct curl_slist *headers = make_headers(client, request);
    if (request->refusal)
        request->refusal[0] = '\0';
    set_options(client, request, &body);
    curl_easy_setopt(client->curl, CURLOPT_URL, url);
    curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, headers);
    if (text || strcmp(request->method, "POST") == 0)
        curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, text ? text : "");
    CURLcode code = run_transfer(client, request);

    char *type = NULL;
    CLEANUP_CLIENT_ANSWER struct client_answer got = {0};
    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &got.status);
    curl_easy_getinfo(client->curl, CURLINFO_CONTENT_TYPE, &type);
    got.type = text_copy(type ? type : "");
    got.data = body.text.text ? body.text.text : text_copy("");
    got.size = body.text.size;
    read_headers(client->curl, request->headers);
    if (code != CURLE_OK)
        return explain_failure(client, request, code, &body, err);
    if (got.status < 200 || got.status > 299)
        return read_refusal(client, request, &got, err);
    *answer = got;
    memset(&got, 0, sizeof got);
    return 0;
}

int client_ask_key(struct client *client, char **public_key, struct error *err)
{
    char nonce[IDENTITY_NONCE_SIZE], node_id[DIGEST_HEX_SIZE], word[CLIENT_WORD_SIZE];
    const char *key, *signature;
    struct error reason = ERROR_INIT;
    CLEANUP_CLIENT_ANSWER struct client_answer answer = {0};
    *public_key = NULL;
    random_hex(nonce, sizeof nonce / 2);
    CLEANUP_FREE char *path = text_format("/v1/key?nonce=%s", nonce);
    const struct client_request request = {
        .method = "GET", .path = path, .timeout_ms = CLIENT_TIMEOUT_MS, .refusal = word};
    client->tokenless = true;
    int sent = send_request(client, &request, &answer, &reason);
    client->tokenless = false;
    if (sent < 0 && strcmp(word, "not_found") == 0)
        return 0;
    if (sent < 0) {
        *err = reason;
        return -1;
    }
    CLEANUP_JSON json_t *document = document_parse(answer.data, answer.size, err);
    if (!document || document_string(document, "public_key", &key, err) < 0 ||
        document_string(document, "signature", &signature, err) < 0 || !identity_of(key, node_id) ||
        identity_check(node_id, nonce, key, signature, &reason) < 0)
        return error_set(err, ERROR_FORBIDDEN, "what answers at %s does not prove the key that it names",
                         client->url);
    *public_key = text_copy(key);
    return 0;
}

/* Has the node prove the pinned key on the connection that the next request takes. */
static int prove_node(struct client *client, struct error *err)
{
    char found[DIGEST_HEX_SIZE] = "";
    CLEANUP_FREE char *public_key = NULL;
    if (client_ask_key(client, &public_key, err) < 0)
        return -1;
    if (!public_key || !identity_of(public_key, found) || strcmp(found, client->node_id) != 0)
        return error_set(
            err, ERROR_FORBIDDEN,
            "what answers at %s is not the node that this computer is paired with: its key is "
            "another. The token was not sent. If the node was made anew, run: berth pair --url %s",
            client->url, client->url);
    client->proven_port = client->port;
    return 0;
}

int client_send(struct client *client, const struct client_request *request, struct client_answer *answer,
                struct error *err)
{
    enum { TRIES = 3 };
    if (!client->token || !client->node_id)
        return send_request(client, request, answer, err);
    for (int turn = 0;; turn++) {
        if (!client->proven_port && prove_node(client, err) < 0)
            return -1;
        int sent = send_request(client, request, answer, err);
        /* another connection was made, the proven one had been closed: nothing has gone out on it */
        bool moved = sent < 0 && client->port != client->proven_port;
        if (!moved || turn == TRIES)
            return sent;
        client->proven_port = 0;
    }
}

json_t *client_ask(struct client *client, const struct client_request *request, struct error *err)
{
    CLEANUP_CLIENT_ANSWER struct client_answer answer = {0};
    if (client_send(client, request, &answer, err) < 0)
        return NULL;
    if (answer.status == 204)
        return json_null();
    json_t *document = document_parse(answer.data, answer.size, err);
    if (!document)
        error_prefix(err, "the answer of %s to %s %s", client->url, request->method, request->path);
    return document;
}
