/*
 * The audit trail: HOME/audit.jsonl (0600), one JSON object a line, appended and never changed: who paired,
 * who leased, who looked, who was refused. It holds no token, code or typed text. At AUDIT_FILE_MAX bytes the
 * file becomes audit.jsonl.1 and so on; the oldest of AUDIT_FILES goes.
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

/*
 * The same for what a stranger can cause as often as he likes: at most AUDIT_REFUSALS at once and one more
 * every two seconds are written, and the next one that is says how many were not.
 */
#define AUDIT_REFUSALS 30
void audit_write_refusal(struct audit *audit, const char *event, json_t *fields);

#endif
