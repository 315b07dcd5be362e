/*
 * The guest image: opened and verified by image/, once here. Bound: a known image is some 20 system calls; a
 * new one is hashed, which takes as long as reading its bytes does and shows progress.
 */
#include "doctor/probe_image.h"

#include "base/file.h"
#include "image/readable.h"

static const enum image_state states[] = {
    [IMAGE_FAULT_NONE] = IMAGE_STATE_UNKNOWN,          [IMAGE_FAULT_MISSING] = IMAGE_STATE_MISSING,
    [IMAGE_FAULT_STALE] = IMAGE_STATE_STALE,           [IMAGE_FAULT_TAMPERED] = IMAGE_STATE_TAMPERED,
    [IMAGE_FAULT_UNREADABLE] = IMAGE_STATE_UNREADABLE,
};

struct image *probe_image(const struct config *config,
                          void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes),
                          void *progress_context, struct image_facts *facts)
{
    struct error err = ERROR_INIT;
    enum image_fault fault = IMAGE_FAULT_NONE;
    CLEANUP_FREE char *cache = file_join(config->home, "verified.json");
    struct image *image = image_open(&(struct image_options){.image_dir = config->image_dir,
                                                             .name = config->image,
                                                             .pinned_digest = config->image_digest,
                                                             .cache_path = cache,
                                                             .progress = progress,
                                                             .progress_context = progress_context},
                                     &fault, &err);
    if (!image) {
        facts->state = states[fault];
        PROBE_COPY(facts->error, err.text);
        return NULL;
    }
    facts->state = IMAGE_STATE_VERIFIED;
    PROBE_COPY(facts->name, image->name);
    PROBE_COPY(facts->manifest_sha256, image->manifest_sha256);
    facts->labels = image->labels;
    facts->test_only = image->test_only ? FACT_YES : FACT_NO;
    return image;
}

void probe_image_readable(const struct image *image, const struct probe_user *user, struct image_facts *facts)
{
    if (!user->known)
        return;
    for (int i = 0; i < IMAGE_FILE_COUNT; i++) {
        struct error err = ERROR_INIT;
        if (image_readable_for(image->parts[i].path, user->uid, user->groups, user->group_count, &err) < 0) {
            facts->readable_by_qemu = FACT_NO;
            PROBE_COPY(facts->readable_error, err.text);
            return;
        }
    }
    facts->readable_by_qemu = FACT_YES;
}

static const char *const state_words[] = {[IMAGE_STATE_UNKNOWN] = "unknown",
                                          [IMAGE_STATE_MISSING] = "missing",
                                          [IMAGE_STATE_STALE] = "stale",
                                          [IMAGE_STATE_TAMPERED] = "tampered",
                                          [IMAGE_STATE_UNREADABLE] = "unreadable",
                                          [IMAGE_STATE_VERIFIED] = "verified",
                                          NULL};

const struct member probe_image_members[] = {
    FACT_ROW("state", MEMBER_WORD, image, state, .words = state_words),
    FACT_SAYS(image, name),
    FACT_SAYS(image, manifest_sha256),
    FACT_IS(image, test_only),
    FACT_IS(image, readable_by_qemu),
    FACT_SAYS(image, error),
    FACT_SAYS(image, readable_error),
    FACT_ROWS_END,
};
