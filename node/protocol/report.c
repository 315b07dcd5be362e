#include "protocol/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/text.h"
#include "protocol/labels.h"

#define ROW_WORD(row, word, required) [row] = #word,
static const char *const row_words[ROW_COUNT] = {REPORT_ROWS(ROW_WORD)};

const char *report_row_word(enum report_row row)
{
    return (unsigned)row < ROW_COUNT ? row_words[row] : "unknown";
}

const char *report_status_word(enum report_status status)
{
    return status == STATUS_PASS ? "pass" : status == STATUS_WARN ? "warn" : "fail";
}

/*
 * A detail may hold what other programs said. Control characters and broken UTF-8 are replaced, so that it
 * is fit for a terminal and has one canonical JSON form.
 */
static json_t *clean_string(const char *text)
{
    if (!text || !text[0])
        text = "this was not looked at";
    CLEANUP_FREE char *clean = text_copy(text);
    size_t size = strlen(clean);
    for (size_t at = 0; at < size;) {
        uint32_t code_point = 0;
        size_t length = text_decode(clean + at, size - at, &code_point);
        if (length == 0 || !text_is_plain(code_point)) {
            memset(clean + at, length ? ' ' : '?', length ? length : 1);
            length = length ? length : 1;
        }
        at += length;
    }
    return json_string(clean);
}

/* The last line of defence: whatever the evaluation says, a red row or class laptop never reads as ok. */
static bool consistent_ok(const struct report *report)
{
    bool ok = report->ok && report->class_word && report->intent_word &&
              strcmp(report->class_word, "laptop") != 0 && strcmp(report->class_word, "unknown") != 0;
    for (int row = 0; row < ROW_COUNT; row++)
        ok = ok && (report->checks[row].status == STATUS_PASS || report->checks[row].status == STATUS_WARN);
    return ok;
}

static json_t *find_label(const struct report *report, const char *key)
{
    json_t *value = json_object_get(report->labels, key);
    return value ? json_incref(value) : json_null();
}

/* The image as a market compares it. */
static json_t *market_image(const struct report *report)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:O}", "name", report->image_name, "version_label",
                     find_label(report, LABEL_VERSION_KEY), "desktop_label",
                     find_label(report, LABEL_DESKTOP_KEY), "egress_label",
                     find_label(report, LABEL_EGRESS_KEY), "labels", report->labels);
}

static void encode_image(const struct report *report, json_t *document)
{
    if (!report->image_name || !report->labels) {
        json_object_set_new(document, "image", json_null());
        json_object_set_new(document, "labels", json_object());
        json_object_set_new(document, "guest_image", json_null());
        return;
    }
    json_object_set_new(document, "image",
                        json_pack("{s:s, s:O}", "name", report->image_name, "labels", report->labels));
    json_object_set(document, "labels", report->labels);
    json_object_set_new(document, "guest_image", market_image(report));
}

/* RFC 8785: sorted keys, no white space; there are no numbers and no control characters in a report. */
static void add_digest(json_t *document)
{
    char digest[DIGEST_HEX_SIZE];
    CLEANUP_FREE char *canonical = json_dumps(document, JSON_SORT_KEYS | JSON_COMPACT);
    if (!canonical)
        abort();
    digest_buffer(canonical, strlen(canonical), digest);
    json_object_set_new(document, "digest", json_string(digest));
}

static json_t *encode_checks(const struct report *report)
{
    json_t *checks = json_array();
    for (int row = 0; row < ROW_COUNT; row++)
        json_array_append_new(checks, json_pack("{s:s, s:s, s:o}", "id", row_words[row], "status",
                                                report_status_word(report->checks[row].status), "detail",
                                                clean_string(report->checks[row].detail)));
    return checks;
}

json_t *report_encode(const struct report *report)
{
    char time[CLOCK_TEXT_SIZE];
    clock_format(report->time_ms, time);
    bool ok = consistent_ok(report);
    json_t *document =
        json_pack("{s:s, s:s, s:b, s:b, s:s, s:s, s:o, s:s, s:s, s:s?}", "protocol", PROTOCOL_VERSION,
                  "source", "berthos.doctor", "ok", ok, "eligible", ok, "class",
                  report->class_word ? report->class_word : "unknown", "intent",
                  report->intent_word ? report->intent_word : "unknown", "checks", encode_checks(report),
                  "timestamp", time, "attestedAt", time, "nodeId", report->node_id);
    if (!document)
        abort();
    encode_image(report, document);
    add_digest(document);
    return document;
}

/* Why a market would not store it; NULL when it would. */
static const char *unfit_for_market(const struct report *report)
{
    if (!report->intent_word || strcmp(report->intent_word, "public") != 0)
        return "it is not for public intent (it was made for private intent); use --intent public, or set "
               "intent in node.toml";
    if (!consistent_ok(report))
        return "a row fails";
    if (!report->node_id)
        return "the node has no key";
    return report->image_name && report->labels ? NULL : "it names no verified image";
}

json_t *report_encode_market(const struct report *report, const char *url, struct error *err)
{
    const char *unfit = unfit_for_market(report);
    if (unfit) {
        error_set(err, ERROR_INELIGIBLE, "a market takes green public reports alone: %s", unfit);
        return NULL;
    }
    char time[CLOCK_TEXT_SIZE];
    clock_format(report->time_ms, time);
    json_t *document = json_pack(
        "{s:s, s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:O, s:o, s:o, s:o}", "source", "berthos.doctor", "ok", 1,
        "class", report->class_word, "nodeId", report->node_id, "attestedAt", time, "berthosUrl", url,
        "protocol", PROTOCOL_VERSION, "intent", report->intent_word, "labels", report->labels, "checks",
        encode_checks(report), "guest_image", market_image(report), "image", market_image(report));
    if (!document)
        abort();
    add_digest(document);
    return document;
}

void report_free(struct report *report)
{
    if (!report)
        return;
    for (int row = 0; row < ROW_COUNT; row++)
        free(report->checks[row].detail);
    free(report->image_name);
    json_decref(report->labels);
    free(report->node_id);
    free(report);
}
