#include "lease/journal_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/member.h"
#include "base/memory.h"

#define SCHEMA     "berthos.lease/1"
#define AT(member) MEMBER_AT(struct journal_record, member)
#define COUNT      (sizeof members / sizeof members[0])

static const char *const states[JOURNAL_STATE_COUNT + 1] = {
    [JOURNAL_CREATING] = "creating",
    [JOURNAL_LIVE] = "live",
    [JOURNAL_ENDING] = "ending",
    [JOURNAL_ENDED] = "ended",
};

/* In the order of the document. What is optional was not written by every earlier version. */
static const struct member members[] = {
    {"id", MEMBER_TEXT, AT(id), .check = lease_id_valid, .allowed = "a lease's id"},
    {"state", MEMBER_WORD, AT(state), .words = states},
    {"owner", MEMBER_TEXT, AT(owner), .check = digest_valid, .allowed = "64 lower-case hex digits"},
    {"berth", MEMBER_INTEGER, AT(berth), .max = INT32_MAX},
    {"uuid", MEMBER_TEXT, AT(uuid), .min = GUEST_UUID_SIZE - 1, .allowed = "a UUID"},
    {"vcpu", MEMBER_INTEGER, AT(shape.vcpu), .max = INT64_MAX},
    {"mem_gib", MEMBER_INTEGER, AT(shape.mem_gib), .max = INT64_MAX},
    {"disk_gib", MEMBER_INTEGER, AT(shape.disk_gib), .max = INT64_MAX},
    {"started_ms", MEMBER_INTEGER, AT(started_ms), .max = INT64_MAX},
    {"expires_ms", MEMBER_INTEGER, AT(expires_ms), .max = INT64_MAX},
    {"ended_ms", MEMBER_INTEGER, AT(ended_ms), .max = INT64_MAX},
    {"occupied_ms", MEMBER_INTEGER, AT(occupied_ms), .max = INT64_MAX},
    {"down_ms", MEMBER_INTEGER, AT(down_ms), .max = INT64_MAX, .optional = true},
    {"stamp_ms", MEMBER_INTEGER, AT(stamp_ms), .max = INT64_MAX},
    {"stamped_ms", MEMBER_INTEGER, AT(stamped_ms), .max = INT64_MAX, .optional = true},
    {"boot_id", MEMBER_TEXT, AT(boot_id), .allowed = "a host's boot id", .optional = true},
    {"paused", MEMBER_BOOLEAN, AT(paused), .optional = true},
    {"helper", MEMBER_BOOLEAN, AT(helper), .optional = true},
    {"reason", MEMBER_WORD, AT(reason), .words = lease_reason_words},
};

json_t *journal_encode(const struct journal_record *record)
{
    json_t *document = json_pack("{s:s}", "schema", SCHEMA);
    member_encode_all(members, COUNT, record, document);
    return document;
}

int journal_decode(const json_t *document, struct journal_record *record, struct error *err)
{
    const char *schema;
    if (document_string(document, "schema", &schema, err) < 0)
        return -1;
    if (strcmp(schema, SCHEMA) != 0)
        return error_set(err, ERROR_BAD_REQUEST, "it is not a lease's document");
    *record = (struct journal_record){0};
    return member_decode_all(members, COUNT, document, record, err);
}

void journal_append(struct journal_record **list, size_t *count, const struct journal_record *record)
{
    struct journal_record *larger = memory_resize(*list, (*count + 1), sizeof *larger);
    *list = larger;
    larger[(*count)++] = *record;
}

void journal_stamp(struct journal_record *record)
{
    record->stamp_ms = clock_boottime_ms();
    record->stamped_ms = clock_realtime_ms();
    clock_boot_id(record->boot_id);
}

int64_t journal_reached_ms(const struct journal_record *record)
{
    return record->started_ms + record->occupied_ms + record->down_ms;
}

void journal_receipt(const struct journal_record *record, struct lease_receipt *receipt)
{
    memcpy(receipt->lease_id, record->id, sizeof receipt->lease_id);
    receipt->occupancy_seconds = record->occupied_ms / 1000;
    receipt->down_seconds = record->down_ms / 1000;
    receipt->reason = record->reason;
}
