/*
 * The eligibility report (CONTRACT.md section 2): what `berth doctor --json` prints and GET /v1/eligibility
 * answers.
 */
#ifndef BERTHOS_PROTOCOL_REPORT_H
#define BERTHOS_PROTOCOL_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

#define PROTOCOL_VERSION "v1"

/*
 * The rows, in the order of the report: the enumerator, the word, and whether private intent requires what
 * the row does, or public alone. The doctor judges each by judge_<word>().
 */
/* clang-format off */
#define REPORT_ROWS(ROW) \
    ROW(ROW_CLASS, class, true) \
    ROW(ROW_BIND, bind, true) \
    ROW(ROW_RUNTIME, runtime, true) \
    ROW(ROW_KVM, kvm, true) \
    ROW(ROW_GUEST_IMAGE, guest_image, true) \
    ROW(ROW_EGRESS, egress, true) \
    ROW(ROW_CAPACITY, capacity, true) \
    ROW(ROW_GUEST_OS, guest_os, true) \
    ROW(ROW_CHASSIS, chassis, false) \
    ROW(ROW_AVAILABILITY, availability, false) \
    ROW(ROW_CONFINEMENT, confinement, false) \
    ROW(ROW_TUNNEL, tunnel, true)
/* clang-format on */
#define REPORT_ENUMERATOR(row, word, required) row,
enum report_row { REPORT_ROWS(REPORT_ENUMERATOR) ROW_COUNT };

enum report_status {
    STATUS_FAIL = 0,
    STATUS_WARN,
    STATUS_PASS
}; /* zero fails: an unset row is never a pass */

struct report_check {
    enum report_status status;
    char *detail; /* what was looked at, what was found, and for a row that is not pass what to do. Owned */
};

struct report {
    bool ok;
    const char *class_word;  /* static */
    const char *intent_word; /* static */
    struct report_check checks[ROW_COUNT];
    char *image_name; /* NULL when no image could be read. Owned */
    json_t *labels;   /* every label of the image, string to string; NULL with image_name. Owned */
    int64_t time_ms;  /* when it was made, realtime */
    char *node_id;    /* fingerprint of the node's key, or NULL when there is none yet. Owned */
};

/* The word of a row, as "guest_image". Static. */
const char *report_row_word(enum report_row row);
const char *report_status_word(enum report_status status);

/* The wire document, with `digest` (sha256 of the canonical report, docs/ELIGIBILITY.md). A new reference. */
json_t *report_encode(const struct report *report);

/*
 * The strict form that a market stores: the same report with these members and no others, and with url, the
 * address of this node on its own host. `digest` is made as above, of this document. A new reference, or NULL
 * with ERROR_INELIGIBLE for anything but a green report for public intent.
 */
json_t *report_encode_market(const struct report *report, const char *url, struct error *err);

void report_free(struct report *report);
CLEANUP_DEFINE(report, struct report *, report_free);
#define CLEANUP_REPORT CLEANUP(cleanup_report)

#endif
