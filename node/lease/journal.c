#include "lease/journal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/document.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "lease/archive.h"

enum { DOCUMENT_MAX = 64 * 1024 };

int journal_open(struct journal *journal, const char *home, struct error *err)
{
    journal->folder = file_join(home, "leases");
    return file_make_folder(journal->folder, 0700, err);
}

void journal_close(struct journal *journal)
{
    free(TAKE(journal->folder));
}

static char *path_of(const struct journal *journal, const char *id)
{
    return text_format("%s/%s.json", journal->folder, id);
}

int journal_write(const struct journal *journal, const struct journal_record *record, struct error *err)
{
    CLEANUP_JSON json_t *document = journal_encode(record);
    CLEANUP_FREE char *text = document_pretty(document);
    CLEANUP_FREE char *path = path_of(journal, record->id);
    if (file_write_atomic(path, 0600, text, strlen(text), err) < 0)
        return error_prefix(err, "the lease could not be journalled");
    return 0;
}

static int read_archived(const struct journal *journal, const char *id, struct journal_record *record,
                         struct error *err)
{
    CLEANUP_FREE struct journal_record *found = NULL;
    size_t count = 0;
    if (archive_list(journal->folder, id, &found, &count, err) < 0)
        return -1;
    if (count == 0)
        return error_set(err, ERROR_NOT_FOUND, "there is no lease of this id");
    *record = found[0];
    return 0;
}

int journal_read(const struct journal *journal, const char *id, struct journal_record *record,
                 struct error *err)
{
    if (!lease_id_valid(id)) /* it becomes a path */
        return error_set(err, ERROR_NOT_FOUND, "there is no lease of this id");
    CLEANUP_FREE char *path = path_of(journal, id);
    CLEANUP_JSON json_t *document = document_read(path, DOCUMENT_MAX, err);
    if (!document && err->code == ERROR_NOT_FOUND)
        return read_archived(journal, id, record, err);
    if (!document || journal_decode(document, record, err) < 0 || strcmp(record->id, id) != 0) {
        error_recode(err, ERROR_INTERNAL);
        return error_prefix(err, "the journal's document %s cannot be understood", path);
    }
    return 0;
}

int journal_remove(const struct journal *journal, const char *id, struct error *err)
{
    CLEANUP_FREE char *path = path_of(journal, id);
    return file_remove(path, err);
}

static void set_aside(const struct journal *journal, const char *name, const char *why)
{
    CLEANUP_FREE char *path = file_join(journal->folder, name);
    CLEANUP_FREE char *aside = text_format("%s.broken", path);
    if (rename(path, aside) == 0)
        log_error("lease", "%s; it was set aside as %s", why, aside);
}

/* The lease id of a document's file name; false for any other file. */
static bool id_of(const char *name, char id[LEASE_ID_SIZE])
{
    if (strlen(name) != LEASE_ID_SIZE - 1 + 5 || strcmp(name + LEASE_ID_SIZE - 1, ".json") != 0)
        return false;
    snprintf(id, LEASE_ID_SIZE, "%.*s", LEASE_ID_SIZE - 1, name);
    return lease_id_valid(id);
}

/* The documents whose state is at least `from` and at most `to`. */
static int read_folder(const struct journal *journal, enum journal_state from, enum journal_state to,
                       bool keep_broken, struct journal_record **records, size_t *count, struct error *err)
{
    CLEANUP_FOLDER DIR *folder = opendir(journal->folder);
    if (!folder)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot list %s", journal->folder);
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        struct error reason = ERROR_INIT;
        struct journal_record record;
        char id[LEASE_ID_SIZE];
        if (!id_of(entry->d_name, id))
            continue;
        if (journal_read(journal, id, &record, &reason) < 0) {
            if (!keep_broken)
                set_aside(journal, entry->d_name, reason.text);
        } else if (record.state >= from && record.state <= to) {
            journal_append(records, count, &record);
        }
    }
    return 0;
}

int journal_unfinished(const struct journal *journal, struct journal_record **records, size_t *count,
                       struct error *err)
{
    *records = NULL;
    *count = 0;
    return read_folder(journal, JOURNAL_CREATING, JOURNAL_ENDING, false, records, count, err);
}

static int newest_first(const void *a, const void *b)
{
    const struct journal_record *one = a, *other = b;
    return one->started_ms < other->started_ms ? 1 : one->started_ms > other->started_ms ? -1 : 0;
}

int journal_history(const struct journal *journal, struct journal_record **records, size_t *count,
                    struct error *err)
{
    CLEANUP_FREE struct journal_record *found = NULL;
    size_t used = 0;
    if (archive_list(journal->folder, NULL, &found, &used, err) < 0)
        return -1;
    /* a crash may have come between the archive and the document's end */
    for (size_t i = 0; i < used;) {
        CLEANUP_FREE char *path = path_of(journal, found[i].id);
        if (access(path, F_OK) == 0)
            found[i] = found[--used];
        else
            i++;
    }
    if (read_folder(journal, JOURNAL_LIVE, JOURNAL_ENDED, true, &found, &used, err) < 0)
        return -1;
    if (used > 0)
        qsort(found, used, sizeof *found, newest_first);
    *records = TAKE(found);
    *count = used;
    return 0;
}

int journal_compact(const struct journal *journal, int64_t now_ms, struct error *err)
{
    const int64_t keep_ms = JOURNAL_KEEP_DAYS * 86400LL * 1000;
    CLEANUP_FREE struct journal_record *ended = NULL;
    size_t count = 0, old = 0;
    if (read_folder(journal, JOURNAL_ENDED, JOURNAL_ENDED, true, &ended, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (ended[i].ended_ms > 0 && now_ms - ended[i].ended_ms >= keep_ms)
            ended[old++] = ended[i];
    if (old == 0)
        return 0;
    if (archive_add(journal->folder, ended, old, err) < 0)
        return -1;
    for (size_t i = 0; i < old; i++)
        if (journal_remove(journal, ended[i].id, err) < 0)
            return -1;
    log_info("lease", "%zu leases that ended more than %d days ago are archived", old, JOURNAL_KEEP_DAYS);
    return 0;
}
