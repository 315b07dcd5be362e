#include "lease/boot.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/text.h"
#include "guest/agent.h"
#include "guest/start.h"
#include "image/overlay.h"
#include "lease/berth_display.h"

enum { FACTS_MS = 15000, START_MS = 60000, REOPEN_PAUSE_MS = 100 };

int berth_source_open(const struct berth *berth, struct berth_source *source, struct error *err)
{
    const struct leases *leases = berth->leases;
    const struct config *config = leases->config;
    bool kvm = config->accel == ACCEL_KVM;
    struct image_options options = {
        .image_dir = config->image_dir,
        .name = config->image,
        .pinned_digest = config->image_digest,
        .cache_path = leases->verified,
    };
    *source = (struct berth_source){.image = image_open(&options, NULL, err)};
    if (!source->image)
        return error_set(err, ERROR_INELIGIBLE, "the guest image cannot be used: %.900s", strdupa(err->text));
    if (hypervisor_facts(leases->hypervisor, kvm, NULL, FACTS_MS, &source->facts, err) < 0)
        return -1;
    source->own_uid = guest_label(source->facts.qemu_label, leases->node_id, berth->n,
                                  kvm ? "/dev/kvm" : NULL, source->label);
    return 0;
}

void berth_source_clear(struct berth_source *source)
{
    image_free(TAKE(source->image));
    hypervisor_facts_clear(&source->facts);
}

void berth_spec(const struct berth *berth, const struct berth_source *source, struct guest_spec *spec)
{
    const struct config *config = berth->leases->config;
    *spec = (struct guest_spec){
        .kvm = config->accel == ACCEL_KVM,
        .system = text_starts(config->libvirt_uri, "qemu:///system"),
    };
    if (source) {
        guest_spec_fill(spec, config, source->image, &source->facts);
        if (source->label[0])
            spec->qemu_label = source->label;
        spec->own_uid = source->own_uid;
    }
    spec->name = berth->name;
    spec->uuid = berth->guest.uuid;
    spec->node_id = berth->leases->node_id;
    spec->lease_id = berth->record.id;
    spec->vcpu = berth->record.shape.vcpu;
    spec->mem_mib = berth->record.shape.mem_gib * 1024;
    spec->overlay = berth->overlay;
    spec->console_log = berth->console_log;
}

static int start_guest(struct berth *berth, const struct berth_source *source, struct error *err)
{
    struct guest_spec spec;
    berth_spec(berth, source, &spec);
    if (overlay_create(berth->overlay, source->image, NULL, berth->record.shape.disk_gib,
                       guest_spec_owner(&spec), err) < 0)
        return -1;
    fault_point("create.overlay");
    struct guest guest = berth_guest_now(berth);
    int started = guest_start(&guest, &spec, false, START_MS, err);
    berth_note_run(berth, guest.run);
    if (started < 0)
        return -1;
    fault_point("create.started");
    /* QEMU has the files open now: were they still the verified ones? */
    return image_recheck(source->image, err);
}

/* Whether it is worth while to open a display that was lost again: the guest goes on and there is time. */
static bool may_open_again(struct berth *berth, int64_t deadline_ms)
{
    struct error ignored = ERROR_INIT;
    enum guest_state state;
    return clock_left_ms(deadline_ms) > REOPEN_PAUSE_MS &&
           guest_state(&berth->guest, BERTH_CALL_MS, &state, &ignored) == 0 && state == GUEST_RUNNING;
}

/*
 * Opens the display and waits until the guest has drawn on it. While a guest boots, its display changes mode
 * several times, and a change in the middle of the handshake can end the session: that says nothing about the
 * guest, so the display is opened again. *Owned*.
 */
static struct display *open_drawn(struct berth *berth, const struct image *image, int64_t deadline_ms,
                                  struct error *err)
{
    for (;;) {
        CLEANUP(cleanup_display)
        struct display *display = berth_open_display(berth, deadline_ms, err);
        CLEANUP_FRAME struct frame *drawn =
            display
                ? display_wait_drawn(display, image->display_width, image->display_height, deadline_ms, err)
                : NULL;
        if (drawn)
            return TAKE(display);
        if (!may_open_again(berth, deadline_ms) || berth_enter_phase(berth, "boot", err) < 0)
            return NULL;
        log_info("lease", "%s: opening the display again: %s", berth->name, err->text);
        clock_sleep_ms(REOPEN_PAUSE_MS);
    }
}

/* Waits until the guest is usable; *display is *owned*, also on failure. */
static int await_usable(struct berth *berth, const struct image *image, int64_t deadline_ms,
                        struct display **display, struct error *err)
{
    if (berth_enter_phase(berth, "boot", err) < 0)
        return -1;
    *display = open_drawn(berth, image, deadline_ms, err);
    if (!*display)
        return error_prefix(err, "the guest drew nothing in time");
    fault_point("create.display");
    if (berth_enter_phase(berth, "desktop", err) < 0 ||
        guest_agent_wait(&berth->guest, deadline_ms, err) < 0 ||
        berth_enter_phase(berth, "first frame", err) < 0)
        return -1;
    CLEANUP_FRAME struct frame *fresh =
        display_wait_drawn(*display, image->display_width, image->display_height, deadline_ms, err);
    if (!fresh)
        return -1;
    fault_point("create.usable");
    return 0;
}

/* The guest's last words on its serial console tell more than "it did not come up". */
static void log_console(const struct berth *berth)
{
    char tail[512];
    CLEANUP_CLOSE int fd = open(berth->console_log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    off_t from = size > (off_t)sizeof tail - 1 ? size - ((off_t)sizeof tail - 1) : 0;
    ssize_t got = size > 0 ? pread(fd, tail, sizeof tail - 1, from) : 0;
    if (got <= 0)
        return;
    tail[got] = '\0';
    log_warning("lease", "the guest's console ended with: %s", tail);
}

void berth_desktop_clear(struct berth_desktop *desktop)
{
    struct display *display = TAKE(desktop->display);
    if (display)
        display_close(display);
    image_free(TAKE(desktop->image));
}

int berth_boot(struct berth *berth, struct berth_desktop *desktop, struct error *err)
{
    int64_t deadline_ms = clock_deadline(berth->leases->config->start_timeout_seconds * 1000);
    CLEANUP_SOURCE struct berth_source source;
    if (berth_source_open(berth, &source, err) < 0)
        return -1;
    pthread_mutex_lock(&berth->mutex);
    berth->record.helper = source.image->input_helper;
    pthread_mutex_unlock(&berth->mutex);
    if (start_guest(berth, &source, err) == 0 &&
        await_usable(berth, source.image, deadline_ms, &desktop->display, err) == 0) {
        desktop->image = TAKE(source.image);
        return 0;
    }
    log_console(berth);
    /* What the display or the image said about it is of no other use to the caller: the guest failed. */
    if (err->code != ERROR_NO_CAPACITY && err->code != ERROR_HYPERVISOR)
        error_recode(err, ERROR_GUEST_FAILED);
    return -1;
}
