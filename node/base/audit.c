#include "base/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bucket.h"
#include "base/clock.h"
#include "base/document.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sync.h"
#include "base/text.h"

enum { REFILL_MS = 2000 };

struct audit {
    char *path;            /* owned */
    pthread_mutex_t mutex; /* guards all below, and the order of the lines */
    int fd;                /* -1 when it could not be opened again after a rotation */
    bool failing;          /* the last line could not be written */
    struct bucket refusals;
    int64_t suppressed; /* refusals that were not written */
};

static int open_trail(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

struct audit *audit_open(const char *home, struct error *err)
{
    struct audit *audit = memory_new(sizeof *audit);
    audit->path = file_join(home, "audit.jsonl");
    audit->refusals = bucket_full(AUDIT_REFUSALS, REFILL_MS);
    pthread_mutex_init(&audit->mutex, NULL);
    audit->fd = open_trail(audit->path);
    if (audit->fd >= 0)
        return audit;
    error_set_errno(err, ERROR_INTERNAL, errno, "cannot open %s", audit->path);
    audit_close(audit);
    return NULL;
}

void audit_close(struct audit *audit)
{
    if (!audit)
        return;
    if (audit->fd >= 0)
        close(audit->fd);
    pthread_mutex_destroy(&audit->mutex);
    free(audit->path);
    free(audit);
}

/* With the mutex held: a file that is full becomes .1, .1 becomes .2 and so on. */
static void rotate_files(struct audit *audit, size_t more)
{
    struct stat info;
    if (audit->fd >= 0 && fstat(audit->fd, &info) == 0 && info.st_size + (off_t)more <= AUDIT_FILE_MAX)
        return;
    for (int n = AUDIT_FILES - 2; audit->fd >= 0 && n >= 0; n--) {
        CLEANUP_FREE char *from = n ? text_format("%s.%d", audit->path, n) : text_copy(audit->path);
        CLEANUP_FREE char *to = text_format("%s.%d", audit->path, n + 1);
        if (rename(from, to) < 0 && errno != ENOENT)
            return; /* then it grows on: better long than lost */
    }
    if (audit->fd >= 0)
        close(audit->fd);
    audit->fd = open_trail(audit->path);
}

/* With the mutex held. One write() a line: a crash leaves whole lines. */
static void append_line(struct audit *audit, const char *event, json_t *fields)
{
    char now[CLOCK_TEXT_SIZE];
    clock_format(clock_realtime_ms(), now);
    CLEANUP_JSON json_t *line = json_pack("{s:s, s:s}", "time", now, "event", event);
    json_object_update(line, fields);
    CLEANUP_FREE char *json = document_text(line);
    CLEANUP_FREE char *text = text_format("%s\n", json);
    size_t size = strlen(text);
    rotate_files(audit, size);
    errno = 0;
    bool written = audit->fd >= 0 && write(audit->fd, text, size) == (ssize_t)size;
    if (!written && !audit->failing)
        log_error("audit", "%s cannot be written: %s", audit->path, strerror(errno ? errno : ENOSPC));
    if (written && audit->failing)
        log_info("audit", "%s is written again", audit->path);
    audit->failing = !written;
}

void audit_write(struct audit *audit, const char *event, json_t *fields)
{
    CLEANUP_JSON json_t *owned = fields;
    if (!audit)
        return;
    LOCK_SCOPE(&audit->mutex);
    append_line(audit, event, owned);
}

void audit_write_refusal(struct audit *audit, const char *event, json_t *fields)
{
    CLEANUP_JSON json_t *owned = fields;
    if (!audit)
        return;
    LOCK_SCOPE(&audit->mutex);
    if (!bucket_take(&audit->refusals)) {
        audit->suppressed++;
        return;
    }
    if (audit->suppressed > 0)
        json_object_set_new(owned, "suppressed_before", json_integer(audit->suppressed));
    audit->suppressed = 0;
    append_line(audit, event, owned);
}
