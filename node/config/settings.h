/*
 * The keys of node.toml as one table: it drives parsing, defaults, the file that the first start writes, and
 * is compared with the manual by a test. Adding a key is adding a row here and a member to struct config.
 */
#ifndef BERTHOS_CONFIG_SETTINGS_H
#define BERTHOS_CONFIG_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "config/toml_reader.h"

enum config_type {
    CONFIG_WORD,    /* one of `words`; an enum of config.h in struct config */
    CONFIG_STRING,  /* char * in struct config */
    CONFIG_INTEGER, /* min..max; int64_t in struct config */
    CONFIG_BOOLEAN,
};

struct config_key {
    const char *name;
    enum config_type type;
    const char *fallback; /* the default as text without quotes; NULL where it depends on something else */
    const char *derived;  /* that default in words, where fallback is NULL */
    const char *const *words; /* CONFIG_WORD: the values by their enum, ended by NULL */
    int64_t min, max;         /* CONFIG_INTEGER */
    /* CONFIG_STRING: whether the value will do; NULL takes any. allowed says in words what will. */
    bool (*check)(const char *value);
    const char *allowed;
    const char *comment; /* for the written file; lines are split by '\n' */
    size_t offset;       /* of the member of struct config */
};

/* The table. Borrowed, static. */
const struct config_key *config_keys(size_t *count);

/* The row of a name, or NULL. */
const struct config_key *config_key_find(const char *name);

/* What a key takes: "a whole number from 1 to 64", "\"kvm\" or \"tcg\"". *Owned*. */
char *config_key_allowed(const struct config_key *key);

/*
 * The member's value as node.toml, and JSON as well, writes it: "\"kvm\"", "2", "true". *Owned*, NULL for a
 * string or word that is not set.
 */
char *config_key_text(const struct config_key *key, const struct config *config);

/* Sets the member to the row's default; where that depends on something else, to NULL, 0 or, of a word's
 * enum, the member after those that have words. */
void config_key_reset(const struct config_key *key, struct config *config);

/*
 * Sets the member from an entry of a file. path: the file's, for the error. -1 with ERROR_CONFIG
 * "PATH:LINE:COLUMN: ..." when the type or value is not what the row allows.
 */
int config_key_set(const struct config_key *key, const struct toml_entry *entry, const char *path,
                   struct config *config, struct error *err);

#endif
