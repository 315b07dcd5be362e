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

struct trail {
    char *path;   /* owned */
    int fd;       /* -1 when it could not be opened again after a rotation */
    bool failing; /* the last line could not be written */
};

struct audit {
    pthread_mutex_t mutex; /* guards all below, and the order of the lines */
    struct trail events, refusals;
    struct bucket rooms[AUDIT_FLOODS];
    int64_t suppressed[AUDIT_FLOODS]; /* events that were not written */
};

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static int open_trail(struct trail *trail, const char *home, const char *name, struct error *err)
{
    trail->path = file_join(home, name);
    trail->fd = open_file(trail->path);
    return trail->fd >= 0 ? 0 : error_set_errno(err, ERROR_INTERNAL, errno, "cannot open %s", trail->path);
}

static void close_trail(struct trail *trail)
{
    if (trail->fd >= 0)
        close(trail->fd);
    free(trail->path);
}

struct audit *audit_open(const char *home, struct error *err)
{
    struct audit *audit = memory_new(sizeof *audit);
    audit->events.fd = audit->refusals.fd = -1;
    for (int i = 0; i < AUDIT_FLOODS; i++)
        audit->rooms[i] = bucket_full(AUDIT_BURST, REFILL_MS);
    pthread_mutex_init(&audit->mutex, NULL);
    if (open_trail(&audit->events, home, "audit.jsonl", err) == 0 &&
        open_trail(&audit->refusals, home, "refused.jsonl", err) == 0)
        return audit;
    audit_close(audit);
    return NULL;
}

void audit_close(struct audit *audit)
{
    if (!audit)
        return;
    close_trail(&audit->events);
    close_trail(&audit->refusals);
    pthread_mutex_destroy(&audit->mutex);
    free(audit);
}

/* With the mutex held: a file that is full becomes .1, .1 becomes .2 and so on. */
static void rotate_files(struct trail *trail, size_t more)
{
    struct stat info;
    if (trail->fd >= 0 && fstat(trail->fd, &info) == 0 && info.st_size + (off_t)more <= AUDIT_FILE_MAX)
        return;
    for (int n = AUDIT_FILES - 2; trail->fd >= 0 && n >= 0; n--) {
        CLEANUP_FREE char *from = n ? text_format("%s.%d", trail->path, n) : text_copy(trail->path);
        CLEANUP_FREE char *to = text_format("%s.%d", trail->path, n + 1);
        if (rename(from, to) < 0 && errno != ENOENT)
            return; /* then it grows on: better long than lost */
    }
    if (trail->fd >= 0)
        close(trail->fd);
    trail->fd = open_file(trail->path);
}

/* With the mutex held. One write() a line: a crash leaves whole lines. */
static void append_line(struct trail *trail, const char *event, json_t *fields)
{
    char now[CLOCK_TEXT_SIZE];
    clock_format(clock_realtime_ms(), now);
    CLEANUP_JSON json_t *line = json_pack("{s:s, s:s}", "time", now, "event", event);
    json_object_update(line, fields);
    CLEANUP_FREE char *json = document_text(line);
    CLEANUP_FREE char *text = text_format("%s\n", json);
    size_t size = strlen(text);
    rotate_files(trail, size);
    errno = 0;
    bool written = trail->fd >= 0 && write(trail->fd, text, size) == (ssize_t)size;
    if (!written && !trail->failing)
        log_error("audit", "%s cannot be written: %s", trail->path, strerror(errno ? errno : ENOSPC));
    if (written && trail->failing)
        log_info("audit", "%s is written again", trail->path);
    trail->failing = !written;
}

void audit_write(struct audit *audit, const char *event, json_t *fields)
{
    CLEANUP_JSON json_t *owned = fields;
    if (!audit)
        return;
    LOCK_SCOPE(&audit->mutex);
    append_line(&audit->events, event, owned);
}

void audit_write_some(struct audit *audit, enum audit_flood flood, const char *event, json_t *fields)
{
    CLEANUP_JSON json_t *owned = fields;
    if (!audit)
        return;
    LOCK_SCOPE(&audit->mutex);
    if (!bucket_take(&audit->rooms[flood])) {
        audit->suppressed[flood]++;
        return;
    }
    if (audit->suppressed[flood] > 0)
        json_object_set_new(owned, "suppressed_before", json_integer(audit->suppressed[flood]));
    audit->suppressed[flood] = 0;
    append_line(flood == AUDIT_REFUSALS ? &audit->refusals : &audit->events, event, owned);
}
