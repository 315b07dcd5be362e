#include "lease/berth_golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "guest/agent.h"
#include "guest/helper.h"
#include "guest/save.h"
#include "guest/start.h"
#include "image/golden.h"
#include "image/overlay.h"
#include "lease/berth_display.h"

enum {
    SAVE_MS = 120000,   /* memory is written as fast as the disk takes it */
    RESTORE_MS = 60000, /* and read back */
    USABLE_MS = 15000,  /* a restored guest draws and speaks at once, or it is of no use */
};

static struct golden_key make_key(const struct berth *berth, const struct berth_source *source,
                                  const struct image *image)
{
    const struct lease_shape *shape = &berth->record.shape;
    struct golden_key key = {
        .libvirt_version = source->facts.libvirt_version,
        .qemu_version = source->facts.qemu_version,
        .kvm = berth->leases->config->accel == ACCEL_KVM,
        .vcpu = shape->vcpu,
        .mem_mib = shape->mem_gib * 1024,
        .disk_gib = shape->disk_gib,
    };
    memcpy(key.image_digest, image->manifest_sha256, sizeof key.image_digest);
    snprintf(key.machine, sizeof key.machine, "%s", source->facts.machine);
    memcpy(key.uuid, berth->guest.uuid, sizeof key.uuid);
    if (key.kvm)
        golden_host_cpu(key.cpu);
    return key;
}

int berth_check_golden(const struct berth *berth, const struct berth_source *source, struct error *err)
{
    struct golden_key key = make_key(berth, source, source->image);
    return golden_check(berth->leases->golden, berth->name, &key, berth->leases->verified, err);
}

/* One that is doubtful is not asked again. */
static void drop_golden(const struct berth *berth)
{
    struct error err = ERROR_INIT;
    if (golden_drop(berth->leases->golden, berth->name, &err) < 0)
        log_warning("lease", "%s: %s", berth->name, err.text);
}

int berth_save_golden(struct berth *berth, const struct image *image, struct error *err)
{
    struct leases *leases = berth->leases;
    int64_t began_ms = clock_monotonic_ms();
    CLEANUP_SOURCE struct berth_source source;
    CLEANUP_FREE char *state = golden_state(leases->golden, berth->name);
    drop_golden(berth);
    /* what the state is kept for is what its guest was booted from */
    if (berth_source_open(berth, &source, err) < 0 || image_recheck(image, err) < 0)
        return -1;
    struct golden_key key = make_key(berth, &source, image);
    if (guest_save(&berth->guest, state, SAVE_MS, err) < 0)
        return -1;
    berth_note_run(berth, GUEST_ANY_RUN);
    fault_point("prepare.saved");
    if (golden_keep(leases->golden, berth->name, &key, berth->overlay, leases->verified, err) < 0) {
        drop_golden(berth);
        return -1;
    }
    log_info("lease", "%s: its golden state was made in %lld ms", berth->name,
             (long long)(clock_monotonic_ms() - began_ms));
    return 0;
}

/* The domain runs when it returns 0, on files that are still those that were checked. */
static int start_from_golden(struct berth *berth, const struct berth_source *source, struct error *err)
{
    struct leases *leases = berth->leases;
    struct guest_spec spec;
    CLEANUP_FREE char *disk = golden_disk(leases->golden, berth->name);
    CLEANUP_FREE char *state = golden_state(leases->golden, berth->name);
    berth_spec(berth, source, &spec);
    spec.golden = disk;
    if (overlay_create(berth->overlay, source->image, disk, berth->record.shape.disk_gib,
                       guest_spec_owner(&spec), err) < 0)
        return -1;
    struct guest guest = berth_guest_now(berth);
    int restored = guest_restore(&guest, &spec, state, RESTORE_MS, err);
    berth_note_run(berth, guest.run);
    if (restored < 0)
        return -1;
    fault_point("claim.restored");
    return image_recheck(source->image, err) < 0 ? -1 : berth_check_golden(berth, source, err);
}

/* *display is *owned*, also on failure. */
static int await_restored(struct berth *berth, const struct image *image, struct display **display,
                          struct error *err)
{
    int64_t deadline_ms = clock_deadline(USABLE_MS);
    *display = berth_open_display(berth, deadline_ms, err);
    if (!*display || guest_agent_wait(&berth->guest, deadline_ms, err) < 0)
        return -1;
    /* its programs go on with the generators they were saved with, as every guest of this state would */
    if (image->input_helper && guest_helper_renew(&berth->guest, deadline_ms, err) < 0)
        return error_prefix(err, "the restored guest cannot be made one of its own");
    CLEANUP_FRAME struct frame *fresh =
        display_wait_drawn(*display, image->display_width, image->display_height, deadline_ms, err);
    return fresh ? 0 : -1;
}

int berth_restore(struct berth *berth, struct berth_desktop *desktop, struct error *err)
{
    CLEANUP_SOURCE struct berth_source source;
    if (berth_source_open(berth, &source, err) < 0)
        return -1;
    if (berth_check_golden(berth, &source, err) < 0 || start_from_golden(berth, &source, err) < 0 ||
        await_restored(berth, source.image, &desktop->display, err) < 0) {
        if (err->code != ERROR_NO_CAPACITY)
            drop_golden(berth);
        return -1;
    }
    desktop->image = TAKE(source.image);
    return 0;
}

int leases_sweep_golden(struct leases *leases, struct error *err)
{
    CLEANUP_FREE char *prefix = text_format("berth-%.8s-", leases->node_id);
    CLEANUP_FREE const char **keep = memory_array(leases->count, sizeof *keep);
    size_t count = 0;
    for (size_t i = 0; i < leases->offered && leases->warm == WARM_DISK; i++)
        keep[count++] = leases->berths[i].name;
    return golden_sweep(leases->golden, prefix, keep, count, err);
}
