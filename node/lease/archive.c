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

static char *path_of_archive(const char *folder)
{
    return file_join(folder, "archive.jsonl");
}

/*
 * Calls visit() for each line that holds `needle` until it returns true. A line that cannot be understood is
 * passed over: the others are receipts all the same.
 */
static int visit_lines(const char *folder, const char *needle,
                       bool (*visit)(void *context, const struct journal_record *record), void *context,
                       struct error *err)
{
    CLEANUP_FREE char *path = path_of_archive(folder);
    CLEANUP_FCLOSE FILE *file = fopen(path, "re");
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

struct archive_search {
    const char *id;
    struct journal_record *record;
    bool found;
};

static bool is_wanted(void *context, const struct journal_record *record)
{
    struct archive_search *search = context;
    search->found = strcmp(record->id, search->id) == 0;
    if (search->found)
        *search->record = *record;
    return search->found;
}

int archive_find(const char *folder, const char *id, struct journal_record *record, struct error *err)
{
    struct archive_search search = {.id = id, .record = record};
    if (visit_lines(folder, id, is_wanted, &search, err) < 0)
        return -1;
    return search.found ? 0 : error_set(err, ERROR_NOT_FOUND, "there is no lease of this id");
}

struct archive_found {
    struct journal_record **records;
    size_t *count;
};

static bool add_found(void *context, const struct journal_record *record)
{
    struct archive_found *found = context;
    journal_append(found->records, found->count, record);
    return false;
}

int archive_list(const char *folder, struct journal_record **records, size_t *count, struct error *err)
{
    return visit_lines(folder, NULL, add_found, &(struct archive_found){records, count}, err);
}

int archive_add(const char *folder, const struct journal_record *records, size_t count, struct error *err)
{
    CLEANUP_FREE char *path = path_of_archive(folder);
    CLEANUP_TEXT struct text_buffer lines = {0};
    struct error reason = ERROR_INIT;
    if (file_read(path, ARCHIVE_MAX, &lines.text, &lines.size, &reason) < 0 &&
        reason.code != ERROR_NOT_FOUND) {
        *err = reason;
        return -1;
    }
    lines.room = lines.text ? lines.size + 1 : 0;
    for (size_t i = 0; i < count; i++) {
        /* a crash may have come between the archive and the document's end */
        if (lines.text && strstr(lines.text, records[i].id))
            continue;
        CLEANUP_JSON json_t *document = journal_encode(&records[i]);
        CLEANUP_FREE char *line = document_text(document);
        text_append(&lines, "%s\n", line);
    }
    return file_write_atomic(path, 0600, lines.text ? lines.text : "", lines.size, err);
}
