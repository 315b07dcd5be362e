/* The commands that need init: they change what is shown, reset what is recorded, or end the guest. */
#ifndef TEST_GUEST_COMMANDS_H
#define TEST_GUEST_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "boot.h"
#include "guest.h"
#include "input.h"
#include "screen.h"

/* A run of `flip`: pictures of rising seed, one each period. */
struct flip {
    int timer_fd;    /* fires when the next picture is due */
    int client_fd;   /* who waits for the end; -1: no flip is running */
    uint32_t left;   /* pictures still to come */
    uint32_t seed;   /* of the next one */
    uint32_t first;  /* sequence number of the first picture */
    int64_t next_us; /* when the next one is due */
    int64_t period_us;
};

struct guest {
    struct screen screen;
    struct input input;
    struct flip flip;
    int end_timer_fd; /* fires when `end` is due */
    enum boot_end end;
};

/* Makes the timers. 0, or -1 with errno. */
int commands_start(struct guest *guest);

/* Runs one line from a client and answers it with one line. *Transferred*: closes client_fd, now or (flip)
 * once the answer can be given. */
void commands_run(struct guest *guest, int client_fd, char *line);

/* The flip timer has fired. */
void commands_flip_due(struct guest *guest);

#endif
