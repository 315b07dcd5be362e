#include "lease/archive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

enum { ARCHIVE_MAX = 1 << 30 }; /* bytes: two million leases */

static char *path_of_archive(const struct journal *journal)
{
    return file_join(journal->folder, "archive.jsonl");
}

static void close_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

/*
 * Calls visit() for each line that holds `needle` until it returns true. A line that cannot be understood is
 * passed over: the others are receipts all the same.
 */
static int walk(const struct journal *journal, const char *needle,
                bool (*visit)(void *context, const struct journal_record *record), void *context,
                struct error *err)
{
    CLEANUP_FREE char *path = path_of_archive(journal);
    CLEANUP(close_file) FILE *file = fopen(path, "re");
    CLEANUP_FREE char *line = NULL;
    size_t room = 0;
    ssize_t length;
    if (!file && errno == ENOENT)
        return 0;
    if (!file)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot read %s", path);
    while ((length = getline(&line, &room, file)) > 0) {
        struct journal_record record;
        struct error reason = ERROR_INIT;
        if (needle && !strstr(line, needle))
            continue;
        CLEANUP_JSON json_t *document = document_parse(line, (size_t)length, &reason);
        if (!document || journal_decode(document, &record, &reason) < 0)
            log_warning("lease", "a line of %s is passed over: %s", path, reason.text);
        else if (visit(context, &record))
            return 0;
    }
    return 0;
}

struct search {
    const char *id;
    struct journal_record *record;
    bool found;
};

static bool is_it(void *context, const struct journal_record *record)
{
    struct search *search = context;
    search->found = strcmp(record->id, search->id) == 0;
    if (search->found)
        *search->record = *record;
    return search->found;
}

int archive_find(const struct journal *journal, const char *id, struct journal_record *record,
                 struct error *err)
{
    struct search search = {.id = id, .record = record};
    if (walk(journal, id, is_it, &search, err) < 0)
        return -1;
    return search.found ? 0 : error_set(err, ERROR_NOT_FOUND, "there is no lease of this id");
}

struct list {
    struct journal_record **records;
    size_t *count;
};

static bool keep(void *context, const struct journal_record *record)
{
    struct list *list = context;
    struct journal_record *larger = realloc(*list->records, (*list->count + 1) * sizeof *larger);
    if (!larger)
        abort();
    *list->records = larger;
    larger[(*list->count)++] = *record;
    return false;
}

int archive_list(const struct journal *journal, struct journal_record **records, size_t *count,
                 struct error *err)
{
    return walk(journal, NULL, keep, &(struct list){records, count}, err);
}

int archive_add(const struct journal *journal, const struct journal_record *records, size_t count,
                struct error *err)
{
    CLEANUP_FREE char *path = path_of_archive(journal);
    CLEANUP_FREE char *text = NULL;
    struct error reason = ERROR_INIT;
    size_t size = 0, room = 0;
    if (file_read(path, ARCHIVE_MAX, &text, &size, &reason) < 0 && reason.code != ERROR_NOT_FOUND) {
        *err = reason;
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (text && strstr(text, records[i].id)) /* a crash came between the archive and the document's end */
            continue;
        CLEANUP_JSON json_t *document = journal_encode(&records[i]);
        CLEANUP_FREE char *line = document_text(document);
        size_t length = strlen(line);
        if (size + length + 2 > room) {
            room = (size + length + 2) * 2;
            char *larger = realloc(text, room);
            if (!larger)
                abort();
            text = larger;
        }
        memcpy(text + size, line, length);
        memcpy(text + size + length, "\n", 2);
        size += length + 1;
    }
    return file_write_atomic(path, 0600, text ? text : "", size, err);
}
