/* Where the parts of the test guest meet: its folder, its answers, its clock. */
#ifndef TEST_GUEST_GUEST_H
#define TEST_GUEST_GUEST_H

#include <stdint.h>
#include <time.h>

#define GUEST_FOLDER  "/run/test-guest"
#define GUEST_CONTROL GUEST_FOLDER "/control" /* a Unix stream socket: one line in, one line of JSON out */
#define GUEST_EVENTS  GUEST_FOLDER "/events"  /* every input event, one JSON document a line */
#define GUEST_TEXT    GUEST_FOLDER "/text"    /* what a text field would hold */
#define GUEST_PAINTS  GUEST_FOLDER "/paints"  /* every picture shown, one JSON document a line */
#define GUEST_BUSY    GUEST_FOLDER "/busy"    /* process group of the spinning processes */

#define GUEST_HELPER GUEST_FOLDER "/helper" /* how the input helper behaves; nothing there: as it should */
#define GUEST_TYPING GUEST_FOLDER "/typing" /* the process of the input helper that enters a text */

#define GUEST_AGENT GUEST_FOLDER "/agent.pid" /* process of the guest agent */

enum { GUEST_LINE_MAX = 512 };

/* CLOCK_MONOTONIC in microseconds: the same clock as t_us of the events. */
static inline int64_t guest_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* A line on the serial console, with the time since boot. printf-like. */
void guest_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What the program is under its other names; argv as main() has it. Returns the exit code. */
int init_main(void);
int ctl_main(int argc, char **argv);
int helper_main(int argc, char **argv);

#endif
