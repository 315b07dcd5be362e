#include "config/config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/text.h"

/* The written file is 4 KiB; one much larger is something else under this name. */
enum { FILE_MAX_BYTES = 64 * 1024 };

enum { START_TIMEOUT_KVM_SECONDS = 60, START_TIMEOUT_TCG_SECONDS = 300 };

static struct config *make_default(const char *home)
{
    struct config *config = memory_new(sizeof *config);
    config->home = text_copy(home);
    config->path = file_join(home, "node.toml");
    for (const struct config_key *key = config_keys; key->member.name; key++)
        config_key_reset(key, config);
    return config;
}

static int refuse_unknown(const struct toml_entry *entry, const char *path, struct error *err)
{
    enum { NAMES_MAX = 64 };
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (const struct config_key *key = config_keys; key->member.name && count < NAMES_MAX; key++)
        names[count++] = key->member.name;
    const char *near = nearest_word(entry->key, names, count);
    CLEANUP_FREE char *name = text_format("%.60s", entry->key);
    for (char *c = name; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    CLEANUP_FREE char *hint = near ? text_format("; did you mean \"%s\"?", near)
                              : entry->type == TOML_TYPE_TABLE
                                  ? text_copy("; this file has no tables")
                                  : text_copy("; berth-node.toml(5) lists the keys");
    return error_set(err, ERROR_CONFIG, "%s:%u:%u: unknown key \"%s\"%s", path, entry->key_place.line,
                     entry->key_place.column, name, hint);
}

static int apply_document(const struct toml_document *document, struct config *config, struct error *err)
{
    const struct toml_entry *overcommit = NULL;
    for (size_t i = 0; i < document->count; i++) {
        const struct toml_entry *entry = &document->entries[i];
        const struct config_key *key = config_key_find(entry->key);
        if (!key)
            return refuse_unknown(entry, config->path, err);
        if (config_key_set(key, entry, config->path, config, err) < 0)
            return -1;
        if (strcmp(key->member.name, "vcpu_overcommit") == 0)
            overcommit = entry;
    }
    /* A rule over two keys: it holds whatever their order. */
    if (overcommit && config->vcpu_overcommit > 1 && config->accel != ACCEL_TCG)
        return error_set(err, ERROR_CONFIG,
                         "%s:%u:%u: \"vcpu_overcommit\" above 1 needs accel = \"tcg\": under kvm a vCPU is a "
                         "CPU of the host",
                         config->path, overcommit->value_place.line, overcommit->value_place.column);
    return 0;
}

static char *default_state_dir(const char *libvirt_uri)
{
    if (!text_starts(libvirt_uri, "qemu:///session"))
        return text_copy("/var/lib/berthos");
    const char *state = getenv("XDG_STATE_HOME");
    /* XDG Base Directory Specification: a relative path there is to be ignored. */
    if (state && state[0] == '/')
        return file_join(state, "berthos");
    const char *home = getenv("HOME");
    return text_format("%s/.local/state/berthos", home && home[0] == '/' ? home : "");
}

/* Fills in the defaults that depend on other keys. */
static void resolve_defaults(struct config *config)
{
    if (!config->state_dir)
        config->state_dir = default_state_dir(config->libvirt_uri);
    if (!config->image_dir)
        config->image_dir = file_join(config->state_dir, "images");
    if (config->start_timeout_seconds == 0)
        config->start_timeout_seconds =
            config->accel == ACCEL_TCG ? START_TIMEOUT_TCG_SECONDS : START_TIMEOUT_KVM_SECONDS;
}

struct config *config_load(const char *home, struct error *err)
{
    CLEANUP_CONFIG struct config *config = make_default(home);
    CLEANUP_FREE char *text = NULL;
    size_t size;
    struct error reason = ERROR_INIT;
    if (file_read(config->path, FILE_MAX_BYTES, &text, &size, &reason) == 0) {
        CLEANUP_TOML struct toml_document *document = toml_parse(text, size, config->path, err);
        if (!document || apply_document(document, config, err) < 0)
            return NULL;
    } else if (reason.code != ERROR_NOT_FOUND) {
        error_set(err, ERROR_CONFIG, "%s", reason.text);
        return NULL;
    }
    resolve_defaults(config);
    return TAKE(config);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

int config_check_unchanged(const struct config *config, struct error *err)
{
    CLEANUP_CONFIG struct config *now = config_load(config->home, err);
    if (!now)
        return -1;
    CLEANUP_TEXT struct text_buffer changed = {0};
    for (const struct config_key *key = config_keys; key->member.name; key++) {
        CLEANUP_FREE char *before = config_key_text(key, config);
        CLEANUP_FREE char *after = config_key_text(key, now);
        if (!same_text(before, after))
            text_join(&changed, ", ", "%s", key->member.name);
    }
    if (changed.text)
        return error_set(err, ERROR_CONFIG, "%s says something else now than when it was read (%s)",
                         config->path, changed.text);
    return 0;
}

static void append_key(struct text_buffer *text, const struct config_key *key)
{
    CLEANUP_FREE char *allowed = config_key_allowed(key);
    CLEANUP_FREE char *comment = text_copy(key->member.help);
    char *rest = NULL;
    for (char *line = strtok_r(comment, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        text_append(text, "# %s\n", line);
    if (key->member.kind != MEMBER_BOOLEAN)
        text_append(text, "# Allowed: %s.\n", allowed);
    bool quoted = key->member.kind == MEMBER_WORD || key->member.kind == MEMBER_STRING;
    if (key->member.fallback)
        text_append(text, "%s = %s%s%s\n\n", key->member.name, quoted ? "\"" : "", key->member.fallback,
                    quoted ? "\"" : "");
    else
        text_append(text, "# Default: %s.\n# %s = %s\n\n", key->derived, key->member.name,
                    quoted ? "\"...\"" : "...");
}

int config_write_default(const char *home, struct error *err)
{
    CLEANUP_FREE char *path = file_join(home, "node.toml");
    struct stat info;
    if (lstat(path, &info) == 0)
        return 0;
    CLEANUP_TEXT struct text_buffer text = {0};
    text_append(
        &text, "%s",
        "# What this Berthos node offers, and how. See berth-node.toml(5).\n"
        "# Unknown keys and values out of bounds are refused; berth doctor says what this host lacks.\n\n");
    for (const struct config_key *key = config_keys; key->member.name; key++)
        append_key(&text, key);
    return file_write_atomic(path, 0600, text.text, text.size - 1, err); /* without the last empty line */
}

void config_free(struct config *config)
{
    if (!config)
        return;
    for (const struct config_key *key = config_keys; key->member.name; key++)
        if (key->member.kind == MEMBER_STRING)
            free(*(char **)((char *)config + key->member.offset));
    free(config->home);
    free(config->path);
    free(config);
}
