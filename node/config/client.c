#include "config/client.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/toml_reader.h"
#include "config/url.h"

enum { FILE_MAX_BYTES = 65536, HEX_DIGITS = 64, KEY_TEXT_MAX = 256 };

/* The file that is read, for the sentences about it. */
struct reading {
    const char *path;
    struct client_config *client;
    struct error *err;
};

/* --- reading --------------------------------------------------------------------------------------- */

static int refuse_entry(const struct reading *reading, const struct toml_entry *entry, const char *what)
{
    return error_set(reading->err, ERROR_CONFIG, "%s:%u:%u: \"%.80s\" %s", reading->path,
                     entry->value_place.line, entry->value_place.column, entry->key, what);
}

static int refuse_type(const struct reading *reading, const struct toml_entry *entry, const char *wanted)
{
    CLEANUP_FREE char *what = text_format("must be %s, not %s", wanted, toml_type_word(entry->type));
    return refuse_entry(reading, entry, what);
}

static bool is_base64(const char *text)
{
    struct error ignored = ERROR_INIT;
    size_t size;
    if (strlen(text) > KEY_TEXT_MAX || !text_starts(text, "M"))
        return false;
    CLEANUP_FREE unsigned char *data = base64_decode(text, &size, &ignored);
    return data && !strpbrk(text, "\"\\\r\n");
}

/* The values are secrets, or were meant to be: they are never shown. */
static int take_hex(const struct reading *reading, const struct toml_entry *entry, char **member)
{
    if (!text_is_hex(entry->string, HEX_DIGITS))
        return refuse_entry(reading, entry, "must be 64 hex digits; run: berth pair");
    *member = text_copy(entry->string);
    return 0;
}

/* One of token, node_id, public_key. 1: none of these keys. */
static int take_member(const struct reading *reading, const struct toml_entry *entry,
                       struct client_node *node)
{
    char **member = strcmp(entry->key, "token") == 0        ? &node->token
                    : strcmp(entry->key, "node_id") == 0    ? &node->node_id
                    : strcmp(entry->key, "public_key") == 0 ? &node->public_key
                                                            : NULL;
    if (!member)
        return 1;
    if (entry->type != TOML_TYPE_STRING)
        return refuse_type(reading, entry, "a string");
    if (member != &node->public_key)
        return take_hex(reading, entry, member);
    if (!is_base64(entry->string))
        return refuse_entry(reading, entry, "must be a key in base64; run: berth pair");
    *member = text_copy(entry->string);
    return 0;
}

static int take_url(const struct reading *reading, const struct toml_entry *entry, const char *text,
                    struct client_node *node)
{
    node->url = url_read(text, reading->err);
    return node->url ? 0
                     : error_prefix(reading->err, "%s:%u:%u", reading->path, entry->value_place.line,
                                    entry->value_place.column);
}

static int refuse_key(const struct reading *reading, const struct toml_entry *entry, const char *known)
{
    return error_set(reading->err, ERROR_CONFIG, "%s:%u:%u: unknown key \"%.60s\"; the keys are %s",
                     reading->path, entry->key_place.line, entry->key_place.column, entry->key, known);
}

/* A table of [nodes]: its key is the URL. */
static int take_node(const struct reading *reading, const struct toml_entry *entry)
{
    struct client_config *client = reading->client;
    if (entry->type != TOML_TYPE_TABLE || !entry->table)
        return refuse_type(reading, entry, "a table");
    if (client->count >= CLIENT_NODES_MAX)
        return refuse_entry(reading, entry, "is one node too many: 64 can be kept");
    struct client_node *node = &client->nodes[client->count++];
    if (take_url(reading, entry, entry->key, node) < 0)
        return -1;
    for (size_t i = 0; i < entry->table->count; i++) {
        int taken = take_member(reading, &entry->table->entries[i], node);
        if (taken < 0)
            return -1;
        if (taken > 0)
            return refuse_key(reading, &entry->table->entries[i],
                              "\"token\", \"node_id\" and \"public_key\"");
    }
    return node->token ? 0 : refuse_entry(reading, entry, "has no \"token\"; run: berth pair");
}

static int take_nodes(const struct reading *reading, const struct toml_entry *entry)
{
    if (entry->type != TOML_TYPE_TABLE || !entry->table)
        return refuse_type(reading, entry, "a table");
    for (size_t i = 0; i < entry->table->count; i++)
        if (take_node(reading, &entry->table->entries[i]) < 0)
            return -1;
    return 0;
}

/* An entry of the top level. Each can come once only in TOML. */
static int take_entry(const struct reading *reading, const struct toml_entry *entry)
{
    struct client_node *used = &reading->client->nodes[0];
    if (strcmp(entry->key, "nodes") == 0)
        return take_nodes(reading, entry);
    if (strcmp(entry->key, "url") == 0)
        return entry->type == TOML_TYPE_STRING ? take_url(reading, entry, entry->string, used)
                                               : refuse_type(reading, entry, "a string");
    int taken = take_member(reading, entry, used);
    return taken > 0
               ? refuse_key(reading, entry, "\"url\", \"token\", \"node_id\", \"public_key\" and \"nodes\"")
               : taken;
}

struct client_config *client_config_load(const char *home, struct error *err)
{
    CLEANUP_FREE char *path = file_join(home, "client.toml");
    CLEANUP_FREE char *text = NULL;
    size_t size;
    struct error reason = ERROR_INIT;
    if (file_read(path, FILE_MAX_BYTES, &text, &size, &reason) < 0) {
        if (reason.code == ERROR_NOT_FOUND)
            error_set(err, ERROR_NOT_FOUND, "not paired with a node (there is no %s); run: berth pair", path);
        else
            error_set(err, ERROR_CONFIG, "%s", reason.text);
        return NULL;
    }
    CLEANUP_TOML struct toml_document *document = toml_parse(text, size, path, err);
    if (!document)
        return NULL;
    CLEANUP_CLIENT_CONFIG struct client_config *client = memory_new(sizeof *client);
    const struct reading reading = {.path = path, .client = client, .err = err};
    client->count = 1;
    for (size_t i = 0; i < document->count; i++)
        if (take_entry(&reading, &document->entries[i]) < 0)
            return NULL;
    if (!client->nodes[0].url || !client->nodes[0].token) {
        error_set(err, ERROR_CONFIG, "%s: the key \"%s\" is missing; run: berth pair", path,
                  client->nodes[0].url ? "token" : "url");
        return NULL;
    }
    return TAKE(client);
}

const struct client_node *client_config_find(const struct client_config *client, const char *url,
                                             struct error *err)
{
    for (size_t i = 0; i < client->count; i++)
        if (!url || strcmp(client->nodes[i].url, url) == 0)
            return &client->nodes[i];
    error_set(err, ERROR_NOT_FOUND, "not paired with a node at %s; run: berth pair --url %s", url, url);
    return NULL;
}

/* --- writing --------------------------------------------------------------------------------------- */

/* All are checked so that none needs escapes, and so that what is written can be read again. */
static int check_members(const struct client_node *node, struct error *err)
{
    if (!text_is_hex(node->token, HEX_DIGITS))
        return error_set(err, ERROR_CONFIG, "the token is not %d hex digits", HEX_DIGITS);
    if ((node->node_id && !text_is_hex(node->node_id, HEX_DIGITS)) ||
        (node->public_key && !is_base64(node->public_key)))
        return error_set(err, ERROR_CONFIG, "the node's key is none");
    return 0;
}

static void write_members(struct text_buffer *text, const struct client_node *node)
{
    text_append(text, "token = \"%s\"\n", node->token);
    if (node->node_id)
        text_append(text, "node_id = \"%s\"\n", node->node_id);
    if (node->public_key)
        text_append(text, "public_key = \"%s\"\n", node->public_key);
}

int client_config_add(const char *home, const struct client_node *node, struct error *err)
{
    struct error ignored = ERROR_INIT;
    CLEANUP_FREE char *url = url_read(node->url, err);
    if (!url || check_members(node, err) < 0)
        return -1;
    CLEANUP_CLIENT_CONFIG struct client_config *before = client_config_load(home, &ignored);
    struct text_buffer text = {0};
    text_append(
        &text,
        "# Written by berth pair. A token is a secret: it opens its node. The first is the one in use.\n"
        "url = \"%s\"\n",
        url);
    write_members(&text, node);
    size_t kept = 1;
    for (size_t i = 0; before && i < before->count && kept < CLIENT_NODES_MAX; i++) {
        if (strcmp(before->nodes[i].url, url) == 0)
            continue;
        text_append(&text, "\n[nodes.\"%s\"]\n", before->nodes[i].url);
        write_members(&text, &before->nodes[i]);
        kept++;
    }
    CLEANUP_FREE char *path = file_join(home, "client.toml");
    int written = file_write_atomic(path, 0600, text.text, text.size, err);
    explicit_bzero(text.text, text.size);
    free(text.text);
    return written;
}

void client_config_free(struct client_config *client)
{
    if (!client)
        return;
    for (size_t i = 0; i < client->count; i++) {
        free(client->nodes[i].url);
        free(client->nodes[i].token);
        free(client->nodes[i].node_id);
        free(client->nodes[i].public_key);
    }
    free(client);
}
