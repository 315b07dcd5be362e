/*
 * A recording: everything that the evaluation reads, as one document, so that what a host looked like can be
 * judged again elsewhere. This program only writes recordings. Nothing in it reads one: a report that says ok
 * is of this host, now. Reading is for the tests (tests/unit/recording.h), over the same table.
 *
 * A recording holds no secret: the keys of node.toml have none, of the node's key there is the fingerprint.
 */
#ifndef BERTHOS_DOCTOR_RECORD_H
#define BERTHOS_DOCTOR_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "doctor/facts.h"

#define RECORD_SCHEMA "berthos.recording/1"

enum record_type {
    RECORD_FACT,    /* enum fact: "unknown", "no", "yes" */
    RECORD_STATE,   /* enum image_state */
    RECORD_TEXT,    /* char[] */
    RECORD_INTEGER, /* int64_t */
    RECORD_MODE,    /* unsigned: permission bits, in octal as text */
    RECORD_VERSION, /* unsigned long: "9.0.0" */
};

/* One member of struct facts; the image's labels and the time are not among them. */
struct record_field {
    const char *section, *name;
    enum record_type type;
    size_t offset, size; /* in struct facts, bytes */
};

/* The table. Borrowed, static. */
const struct record_field *record_fields(size_t *count);

/* The words of a RECORD_FACT or RECORD_STATE by its value, ended by NULL. Static. */
const char *const *record_words(enum record_type type);

/* A new reference. */
json_t *record_encode(const struct config *config, enum config_intent intent, bool deep,
                      const struct facts *facts);

#endif
