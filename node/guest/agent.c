#include "guest/agent.h"

#include <inttypes.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/virterror.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "guest/call.h"
#include "guest/connection.h"
#include "guest/guest.h"
#include "guest/libvirt_error.h"

enum { ANSWER_MAX = 16 << 20 };

struct agent_state {
    char *command;
    int timeout_s;
    char *answer; /* out */
};

static void clear_agent(void *state)
{
    struct agent_state *agent = state;
    free(agent->command);
    free(agent->answer);
}

static int ask_agent(virDomainPtr domain, void *state, struct error *err)
{
    struct agent_state *agent = state;
    agent->answer = virDomainQemuAgentCommand(domain, agent->command, agent->timeout_s, 0);
    if (!agent->answer)
        return libvirt_error(ERROR_GUEST_FAILED, err, "the guest agent does not answer");
    if (strnlen(agent->answer, ANSWER_MAX + 1) > ANSWER_MAX)
        return error_set(err, ERROR_GUEST_FAILED, "the guest agent's answer is larger than %d bytes",
                         ANSWER_MAX);
    return 0;
}

char *guest_agent_command(const struct guest *guest, const char *command, int64_t timeout_ms,
                          struct error *err)
{
    CLEANUP_CALL struct agent_state *state = call_new(sizeof *state, clear_agent);
    state->command = text_copy(command);
    /* libvirt's own time-out comes first, so that the domain's agent job is given back in order */
    state->timeout_s = (int)((timeout_ms + 999) / 1000);
    if (call_guest(guest, "ask the guest agent", ask_agent, state, state->timeout_s * 1000L + 2000, err) < 0)
        return NULL;
    return TAKE(state->answer);
}

int guest_agent_ping(const struct guest *guest, int64_t timeout_ms, struct error *err)
{
    CLEANUP_FREE char *answer = guest_agent_command(guest, "{\"execute\":\"guest-ping\"}", timeout_ms, err);
    return answer ? 0 : -1;
}

int guest_agent_wait(const struct guest *guest, int64_t deadline_ms, struct error *err)
{
    for (;;) {
        /* Read before the look: an event that comes between the look and the wait ends the wait. */
        uint64_t seen = connection_events(guest->hypervisor);
        struct error reason = ERROR_INIT;
        enum guest_state state;
        if (guest_agent_ping(guest, 2000, &reason) == 0)
            return 0;
        if (guest_state(guest, 5000, &state, err) < 0)
            return -1;
        if (state == GUEST_GONE || state == GUEST_STOPPED)
            return error_set(err, ERROR_GUEST_FAILED, "the guest stopped before its desktop was up");
        if (clock_left_ms(deadline_ms) == 0)
            return error_set(err, ERROR_GUEST_FAILED, "the guest agent did not speak in time: %s",
                             reason.text);
        int64_t again_ms = clock_deadline(1000);
        connection_wait_event(guest->hypervisor, seen, again_ms < deadline_ms ? again_ms : deadline_ms);
    }
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
