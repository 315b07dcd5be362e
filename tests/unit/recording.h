/* Reading a recording (doctor/record.h). In the tests only: nothing in the program takes facts from a file.
 */
#ifndef BERTHOS_TESTS_RECORDING_H
#define BERTHOS_TESTS_RECORDING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/document.h"
#include "base/file.h"
#include "base/text.h"
#include "config/config.h"
#include "doctor/record.h"

struct recording {
    json_t *document;
    struct config *config;
    enum config_intent intent;
    bool deep;
    struct facts facts; /* labels are borrowed from the document */
};

static inline void recording_clear(struct recording *recording)
{
    config_free(recording->config);
    json_decref(recording->document);
}

static inline const void *recording_needs(const void *value, const char *what, const char *name)
{
    if (!value) {
        fprintf(stderr, "the recording's %s \"%s\" is missing or of another type\n", what, name);
        abort();
    }
    return value;
}

static inline const char *recording_text(const json_t *object, const char *name)
{
    return recording_needs(json_string_value(json_object_get(object, name)), "text", name);
}

static inline void recording_field(const struct member *member, const json_t *section, struct facts *facts)
{
    void *slot = (char *)facts + member->offset;
    unsigned long major, minor, release;
    switch (member->kind) {
    case FACT_MODE:
        *(unsigned *)slot = (unsigned)strtoul(recording_text(section, member->name), NULL, 8);
        return;
    case FACT_VERSION:
        if (sscanf(recording_text(section, member->name), "%lu.%lu.%lu", &major, &minor, &release) != 3)
            recording_needs(NULL, "version", member->name);
        *(unsigned long *)slot = major * 1000000 + minor * 1000 + release;
        return;
    default:
        if (!member_decode(member, json_object_get(section, member->name), facts))
            recording_needs(NULL, "member", member->name);
    }
}

/* Through node.toml, as every configuration comes in. */
static inline struct config *recording_config(const json_t *keys)
{
    char home[] = "/tmp/berthos-recording-XXXXXX";
    struct error err = ERROR_INIT;
    const char *key;
    json_t *value;
    recording_needs(mkdtemp(home), "folder", home);
    CLEANUP_FREE char *path = file_join(home, "node.toml");
    CLEANUP_FREE char *toml = text_copy("");
    json_object_foreach((json_t *)(uintptr_t)keys, key, value)
    {
        if (json_is_null(value))
            continue;
        CLEANUP_FREE char *before = toml;
        CLEANUP_FREE char *text = json_dumps(value, JSON_ENCODE_ANY);
        toml = text_format("%s%s = %s\n", before, key, text);
    }
    if (file_write_atomic(path, 0600, toml, strlen(toml), &err) < 0)
        recording_needs(NULL, err.text, path);
    struct config *config = config_load(home, &err);
    recording_needs(config, err.text, path);
    unlink(path);
    rmdir(home);
    return config;
}

static inline struct recording recording_decode(json_t *document)
{
    struct recording recording = {.document = json_incref(document)};
    const json_t *sections = json_object_get(document, "facts");
    if (strcmp(recording_text(document, "schema"), RECORD_SCHEMA) != 0 ||
        !config_intent_from(recording_text(document, "intent"), &recording.intent))
        recording_needs(NULL, "schema or intent", RECORD_SCHEMA);
    recording.deep = json_is_true(json_object_get(document, "deep"));
    recording.config = recording_config(json_object_get(document, "config"));
    for (const struct record_section *section = record_sections; section->members; section++)
        for (const struct member *member = section->members; member->name; member++)
            recording_field(member, section->name ? json_object_get(sections, section->name) : sections,
                            &recording.facts);
    const json_t *labels = json_object_get(json_object_get(sections, "image"), "labels");
    recording.facts.image.labels = json_is_object(labels) ? labels : NULL;
    return recording;
}

/* A file of tests/unit/data. */
static inline struct recording recording_read(const char *name)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *path = text_format("%s/tests/unit/data/%s", getenv("BERTHOS_SOURCE_DIR"), name);
    CLEANUP_JSON json_t *document = document_read(path, 1 << 20, &err);
    recording_needs(document, err.text, path);
    return recording_decode(document);
}

#endif
