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

int archive_list(const char *folder, const char *id, struct journal_record **records, size_t *count,
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
        if (id && !strstr(line, id))
            continue;
        CLEANUP_JSON json_t *document = document_parse(line, (size_t)length, &reason);
        if (!document || journal_decode(document, &record, &reason) < 0)
            log_warning("lease", "a line of %s is passed over: %s", path, reason.text);
        else if (!id || strcmp(record.id, id) == 0)
            journal_append(records, count, &record);
    }
    return 0;
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
