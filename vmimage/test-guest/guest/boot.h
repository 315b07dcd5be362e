/* What init does before and around its work: file systems, modules, the console, the agent, the end. */
#ifndef TEST_GUEST_BOOT_H
#define TEST_GUEST_BOOT_H

#include <stdint.h>
#include <sys/types.h>

/* How this boot shall differ from a usual one: from `test_guest.KEY=VALUE` on the kernel's command line. */
struct boot_wishes {
    int64_t agent_delay_ms; /* agent_delay_ms: the agent starts that much later; -1 never */
    int64_t paint;          /* paint: 0 leaves the display black */
    int64_t seed;           /* seed: of the first pattern */
    int64_t poweroff;       /* poweroff: 1 ends the guest before the agent starts */
    int64_t panic;          /* panic: the same by a kernel panic */
};

enum boot_end { BOOT_POWEROFF, BOOT_REBOOT, BOOT_PANIC };

/* Mounts proc, sys, dev and run, makes GUEST_FOLDER, silences the console. 0, or -1 with errno. */
int boot_mounts(void);

struct boot_wishes boot_wishes(void);

/* Loads the modules that the list names, a path and its parameters a line, in order. A module that fails is
 * said and passed over: the guest may still be of use, and what is missing shows. */
void boot_modules(const char *list);

/* Starts the guest agent in a process of its own once its port is there, `delay_ms` from now. */
pid_t boot_agent(int64_t delay_ms);

/* Ends the guest. Returns only when the kernel refuses. */
void boot_end(enum boot_end end);

#endif
