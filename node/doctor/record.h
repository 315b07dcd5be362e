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

#include "base/member.h"
#include "config/config.h"
#include "doctor/facts.h"

#define RECORD_SCHEMA "berthos.recording/1"

/* Kinds of a member that only facts have; an `enum fact` is a MEMBER_WORD. */
enum {
    RECORD_MODE = MEMBER_OWN, /* unsigned: permission bits, in octal as text */
    RECORD_VERSION,           /* unsigned long: "9.0.0" */
};

/* One member of struct facts; the image's labels and the time are not among them. */
struct record_field {
    const char *section; /* the object that it stands in; NULL for one that stands alone */
    struct member member;
};

/* The table. Borrowed, static. */
const struct record_field *record_fields(size_t *count);

/* A new reference. */
json_t *record_encode(const struct config *config, enum config_intent intent, bool deep,
                      const struct facts *facts);

#endif
