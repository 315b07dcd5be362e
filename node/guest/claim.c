/* A prepared guest becomes a lease's. */
#include <inttypes.h>
#include <libvirt/virterror.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "guest/call.h"
#include "guest/domain_xml.h"
#include "guest/guest.h"

struct claim_state {
    char *metadata;
};

static void clear_claim(void *state)
{
    struct claim_state *claim = state;
    free(claim->metadata);
}

static int claim(virDomainPtr domain, void *state, struct error *err)
{
    struct claim_state *given = state;
    int now, reason;
    /* the name first: a guest that runs for somebody always says for whom */
    if (virDomainSetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, given->metadata, "berthos",
                             GUEST_METADATA_NAMESPACE, VIR_DOMAIN_AFFECT_LIVE) < 0)
        return call_libvirt_error(ERROR_GUEST_FAILED, err, "cannot name the prepared guest's lease");
    if (virDomainGetState(domain, &now, &reason, 0) < 0)
        return call_libvirt_error(ERROR_HYPERVISOR, err, "cannot ask for the guest's state");
    if (now == VIR_DOMAIN_PAUSED && virDomainResume(domain) < 0)
        return call_libvirt_error(ERROR_GUEST_FAILED, err, "cannot resume the prepared guest");
    return 0;
}

int guest_claim(const struct guest *guest, const char *node_id, const char *lease_id, int64_t timeout_ms,
                struct error *err)
{
    CLEANUP_CALL struct claim_state *state = call_new(sizeof *state, clear_claim);
    /* without a namespace of its own, which libvirt adds (FACTS); both ids are hexadecimal */
    state->metadata = text_format("<guest node='%s' lease='%s'/>", node_id, lease_id);
    return call_guest(guest, "give the prepared guest to its lease", claim, state, timeout_ms, err);
}

static int read_cpu_time(virDomainPtr domain, void *state, struct error *err)
{
    int64_t *cpu_us = state;
    virDomainInfo info;
    if (virDomainGetInfo(domain, &info) < 0)
        return call_libvirt_error(ERROR_HYPERVISOR, err, "cannot read the guest's CPU time");
    *cpu_us = (int64_t)(info.cpuTime / 1000);
    return 0;
}

int guest_cpu_time(const struct guest *guest, int64_t timeout_ms, int64_t *cpu_us, struct error *err)
{
    CLEANUP_CALL int64_t *state = call_new(sizeof *state, NULL);
    if (call_guest(guest, "read the guest's CPU time", read_cpu_time, state, timeout_ms, err) < 0)
        return -1;
    *cpu_us = *state;
    return 0;
}

int guest_set_clock(const struct guest *guest, int64_t timeout_ms, struct error *err)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    CLEANUP_FREE char *command =
        text_format("{\"execute\":\"guest-set-time\",\"arguments\":{\"time\":%" PRId64 "}}",
                    (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    CLEANUP_FREE char *answer = guest_agent_command(guest, command, timeout_ms, err);
    return answer ? 0 : -1;
}
