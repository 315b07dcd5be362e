/*
 * The audit trail: HOME/audit.jsonl (0600), one JSON object a line, appended and never changed: who paired,
 * who leased, who looked. Who was refused is in HOME/refused.jsonl, so that noise pushes out nothing else.
 * They hold no token, code or typed text. At AUDIT_FILE_MAX bytes a file becomes NAME.1 and so on; the oldest
 * of AUDIT_FILES goes.
 */
#ifndef BERTHOS_BASE_AUDIT_H
#define BERTHOS_BASE_AUDIT_H

#include <jansson.h>

#include "base/cleanup.h"
#include "base/error.h"

#define AUDIT_FILE_MAX (8 << 20) /* bytes */
#define AUDIT_FILES    8

struct audit; /* opaque */

/* Opens the trail for appending. NULL with ERROR_INTERNAL. *Owned*: audit_close(). */
struct audit *audit_open(const char *home, struct error *err);
void audit_close(struct audit *audit);
CLEANUP_DEFINE(audit, struct audit *, audit_close);

/*
 * Appends {"time", "event", fields...}; the reference to fields (an object, or NULL) is taken over. What
 * cannot be written (a full disk) is said in the log, once until it works again: no request fails for it.
 * audit may be NULL: nothing is written. Any thread.
 */
void audit_write(struct audit *audit, const char *event, json_t *fields);

/* What somebody can cause as often as he likes. Each has a bound of its own. */
enum audit_flood {
    AUDIT_REFUSALS, /* goes into refused.jsonl */
    AUDIT_VIEWS,
    AUDIT_FLOODS
};

/*
 * The same for these: at most AUDIT_BURST at once and one more every two seconds are written, and the next
 * one that is says how many were not.
 */
#define AUDIT_BURST 30
void audit_write_some(struct audit *audit, enum audit_flood flood, const char *event, json_t *fields);

/* The longest text from outside that an event may hold, bytes; see text_fit(). */
#define AUDIT_TEXT_MAX 128

#endif
