#include "config/client.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/toml_reader.h"
#include "config/url.h"

enum { FILE_MAX_BYTES = 4096, TOKEN_HEX = 64 };

/* Sets what was not there yet; a key can come once only in TOML. */
static int take_entry(const struct toml_entry *entry, const char *path, struct client_config *client,
                      struct error *err)
{
    unsigned line = entry->value_place.line, column = entry->value_place.column;
    bool is_url = strcmp(entry->key, "url") == 0;
    if (!is_url && strcmp(entry->key, "token") != 0)
        return error_set(err, ERROR_CONFIG,
                         "%s:%u:%u: unknown key \"%.60s\"; the keys are \"url\" and \"token\"", path,
                         entry->key_place.line, entry->key_place.column, entry->key);
    if (entry->type != TOML_TYPE_STRING)
        return error_set(err, ERROR_CONFIG, "%s:%u:%u: \"%s\" must be a string, not %s", path, line, column,
                         entry->key, toml_type_word(entry->type));
    if (is_url) {
        client->url = url_read(entry->string, err);
        return client->url ? 0 : error_prefix(err, "%s:%u:%u", path, line, column);
    }
    /* The value is a secret, or was meant to be one: it is never shown. */
    if (!text_is_hex(entry->string, TOKEN_HEX))
        return error_set(err, ERROR_CONFIG, "%s:%u:%u: \"token\" must be %d hex digits; run: berth pair",
                         path, line, column, TOKEN_HEX);
    client->token = text_copy(entry->string);
    return 0;
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
    for (size_t i = 0; i < document->count; i++)
        if (take_entry(&document->entries[i], path, client, err) < 0)
            return NULL;
    if (!client->url || !client->token) {
        error_set(err, ERROR_CONFIG, "%s: the key \"%s\" is missing; run: berth pair", path,
                  client->url ? "token" : "url");
        return NULL;
    }
    return TAKE(client);
}

int client_config_save(const char *home, const struct client_config *client, struct error *err)
{
    /* Both are checked so that neither needs escapes, and so that what is written can be read again. */
    CLEANUP_FREE char *url = url_read(client->url, err);
    if (!url)
        return -1;
    if (!text_is_hex(client->token, TOKEN_HEX))
        return error_set(err, ERROR_CONFIG, "the token is not %d hex digits", TOKEN_HEX);
    CLEANUP_FREE char *path = file_join(home, "client.toml");
    CLEANUP_FREE char *text =
        text_format("# Written by berth pair. The token is a secret: it opens the node.\n"
                    "url = \"%s\"\ntoken = \"%s\"\n",
                    url, client->token);
    return file_write_atomic(path, 0600, text, strlen(text), err);
}

void client_config_free(struct client_config *client)
{
    if (!client)
        return;
    free(client->url);
    free(client->token);
    free(client);
}
