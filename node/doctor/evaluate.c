#include "doctor/evaluate.h"

#include "base/memory.h"
#include "base/text.h"
#include "doctor/verdict.h"

#define JUDGE(row, word, required) [row] = judge_##word,
static void (*const judges[ROW_COUNT])(struct verdict *) = {REPORT_ROWS(JUDGE)};

struct report *evaluate(const struct config *config, enum config_intent intent, bool deep,
                        const struct facts *facts)
{
    struct report *report = memory_new(sizeof *report);
    struct verdict verdict = {.config = config,
                              .facts = facts,
                              .public = intent != INTENT_PRIVATE,
                              .deep = deep || intent != INTENT_PRIVATE,
                              .report = report};
    for (int row = 0; row < ROW_COUNT; row++) {
        verdict.row = (enum report_row)row;
        judges[row](&verdict);
    }

    report->ok = intent == INTENT_PRIVATE || intent == INTENT_PUBLIC;
    for (int row = 0; row < ROW_COUNT; row++)
        report->ok = report->ok && report->checks[row].status != STATUS_FAIL;
    report->class_word = config_class_word(config->class);
    report->intent_word = config_intent_word(intent);
    if (facts->image.state == IMAGE_STATE_VERIFIED && facts->image.labels) {
        report->image_name = text_copy(facts->image.name);
        report->labels = json_deep_copy(facts->image.labels);
    }
    report->time_ms = facts->time_ms;
    report->node_id = facts->identity.loaded == FACT_YES ? text_copy(facts->identity.node_id) : NULL;
    return report;
}
