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

#include "base/member.h"
#include "config/config.h"
#include "doctor/facts.h"

#define RECORD_SCHEMA "berthos.recording/1"

/* What stands in one object of the document; the image's labels and the time are in no table. */
struct record_section {
    const char *name;             /* NULL: its members stand alone */
    const struct member *members; /* ended by FACT_ROWS_END */
};

/* All of them, ended by one without members. */
extern const struct record_section record_sections[];

/* A new reference. */
json_t *record_encode(const struct config *config, enum config_intent intent, bool deep,
                      const struct facts *facts);

#endif
