/* QEMU's guest agent: it runs in the guest, so everything it says is untrusted and bounded. */
#ifndef BERTHOS_GUEST_AGENT_H
#define BERTHOS_GUEST_AGENT_H

#include <stdint.h>

#include "base/error.h"
#include "guest/handle.h"

/* 0 when the guest agent answers a ping within timeout_ms; -1 with ERROR_GUEST_FAILED when it does not. */
int guest_agent_ping(const struct guest *guest, int64_t timeout_ms, struct error *err);

/* Waits until the agent is connected and answers, or the deadline, or the guest is gone (ERROR_GUEST_FAILED).
 */
int guest_agent_wait(const struct guest *guest, int64_t deadline_ms, struct error *err);

/* Sends one agent command (JSON) and gives its answer's text (*owned*, at most 16 MiB). The answer is
 * untrusted. */
char *guest_agent_command(const struct guest *guest, const char *command, int64_t timeout_ms,
                          struct error *err);

/* Sets the guest's clock to the host's, through its agent. */
int guest_set_clock(const struct guest *guest, int64_t timeout_ms, struct error *err);

#endif
