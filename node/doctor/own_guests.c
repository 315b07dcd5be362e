/* This node's own guests. Bound: one list of libvirt's, and a walk over /proc for each guest. */
#include "doctor/own_guests.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "guest/guest.h"
#include "guest/spec.h"

int64_t own_process_mib(const struct probe_roots *roots, pid_t pid)
{
    static const char *const fields[] = {"RssAnon", "RssShmem"};
    CLEANUP_FREE char *name = text_format("%d/status", (int)pid);
    CLEANUP_FREE char *status = pid > 0 ? probe_text(roots->proc, name) : NULL;
    int64_t sum_kib = 0;
    for (size_t i = 0; status && i < sizeof fields / sizeof fields[0]; i++) {
        char value[64];
        long long kib;
        if (!probe_field(status, fields[i], value, sizeof value) || sscanf(value, "%lld kB", &kib) != 1)
            return 0;
        sum_kib += kib;
    }
    return sum_kib / 1024;
}

/* The doctor's own guest: it is about to go. */
static bool is_canary(const struct guest_owned *guest)
{
    return strstr(guest->name, OWN_CANARY_MARK) != NULL;
}

void own_count(struct own_guests *own, const struct guest_owned *guest, int64_t holds_mib, const char *apart)
{
    if (is_canary(guest) || (apart && strcmp(guest->guest.uuid, apart) == 0)) {
        own->apart_mem_mib += holds_mib;
        own->apart_vcpu += guest->vcpu;
        return;
    }
    own->mem_mib += holds_mib;
    own->owed_mib += guest->mem_mib > holds_mib ? guest->mem_mib - holds_mib : 0;
    if (guest->lease_id[0]) {
        own->leases++;
    } else {
        own->spares++;
        own->spare_mem_mib += holds_mib;
    }
}

int own_guests(struct hypervisor *hypervisor, const char *node_id, const char *apart, int64_t timeout_ms,
               struct own_guests *own, struct error *err)
{
    struct guest_owned *list = NULL;
    size_t count = 0;
    *own = (struct own_guests){0};
    if (guest_list_owned(hypervisor, node_id, timeout_ms, &list, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        own_count(own, &list[i], own_process_mib(&probe_roots_host, guest_process(list[i].guest.uuid)),
                  apart);
    guest_list_free(list, count);
    return 0;
}

int64_t own_saved_states(const char *folder, const char *node_id, int64_t berths)
{
    int64_t count = 0;
    for (int64_t n = 0; n < berths; n++) {
        char guest[GUEST_NAME_SIZE];
        guest_name(node_id, (int)n, guest);
        CLEANUP_FREE char *document = text_format("%s/%s.json", folder, guest);
        count += access(document, F_OK) == 0;
    }
    return count;
}
