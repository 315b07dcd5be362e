/*
 * The guest image: opened and verified by image/, once here. Bound: a known image is some 20 system calls; a
 * new one is hashed, which takes as long as reading its bytes does and shows progress.
 */
#include "base/file.h"
#include "doctor/probe.h"

static enum image_state state_of(enum image_fault fault)
{
    switch (fault) {
    case IMAGE_FAULT_MISSING:
        return IMAGE_STATE_MISSING;
    case IMAGE_FAULT_STALE:
        return IMAGE_STATE_STALE;
    case IMAGE_FAULT_TAMPERED:
        return IMAGE_STATE_TAMPERED;
    case IMAGE_FAULT_UNREADABLE:
        return IMAGE_STATE_UNREADABLE;
    case IMAGE_FAULT_NONE:
        break;
    }
    return IMAGE_STATE_UNKNOWN;
}

struct image *probe_image(const struct doctor_options *options, struct image_facts *facts)
{
    const struct config *config = options->config;
    struct error err = ERROR_INIT;
    enum image_fault fault = IMAGE_FAULT_NONE;
    CLEANUP_FREE char *cache = file_join(config->home, "verified.json");
    struct image *image = image_open(&(struct image_options){.image_dir = config->image_dir,
                                                             .name = config->image,
                                                             .pinned_digest = config->image_digest,
                                                             .cache_path = cache,
                                                             .progress = options->progress,
                                                             .progress_context = options->progress_context},
                                     &fault, &err);
    if (!image) {
        facts->state = state_of(fault);
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
