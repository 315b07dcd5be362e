/*
 * node.toml under arbitrary bytes: no crash, no leak, and a refusal always carries a sentence. What parses as
 * TOML goes through the table of keys as config_load() does it, without the file in between.
 */
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"
#include "config/toml_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set_all(const struct toml_document *document)
{
    struct config config = {0};
    for (const struct config_key *key = config_keys; key->member.name; key++)
        config_key_reset(key, &config);
    for (size_t i = 0; i < document->count; i++) {
        struct error err = ERROR_INIT;
        const struct config_key *key = config_key_find(document->entries[i].key);
        if (key && config_key_set(key, &document->entries[i], "fuzz", &config, &err) < 0 && !err.text[0])
            abort();
    }
    for (const struct config_key *key = config_keys; key->member.name; key++)
        if (key->member.kind == MEMBER_STRING)
            free(*(char **)((char *)&config + key->member.offset));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = ERROR_INIT;
    CLEANUP_TOML struct toml_document *document = toml_parse((const char *)data, size, "fuzz", &err);
    if (document ? err.code != ERROR_NONE : err.code != ERROR_CONFIG || !err.text[0])
        abort();
    if (document)
        set_all(document);
    return 0;
}
