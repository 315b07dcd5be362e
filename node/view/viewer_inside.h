/*
 * The inside of a viewer, shared by viewer.c (the pump) and farewell.c (how it ends) alone. viewer.c has the
 * theory of operation. Private to view/.
 */
#ifndef BERTHOS_VIEW_VIEWER_INSIDE_H
#define BERTHOS_VIEW_VIEWER_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/audience.h"
#include "view/frames.h"
#include "view/pour.h"
#include "view/rfb_filter.h"
#include "view/view_options.h"

#define READ_SIZE (16 << 10)
#define UP_SIZE   (READ_SIZE + 64 + RFB_MESSAGE_MAX) /* wslay may hold the start of a frame back */

struct viewer {
    struct seat seat;
    bool watch;
    int vnc_fd;                         /* -1 before viewer_connect() and after the end */
    const struct view_options *options; /* borrowed */
    struct holds *holds;                /* borrowed */
    struct holder *holder;              /* NULL when vnc_fd is -1 */
    struct frames *frames;
    struct rfb_filter filter;
    int socket;

    enum close_code code; /* why it ends; CLOSE_NONE: the peer has just gone */
    const char *reason;
    bool over;    /* the pump is to stop */
    bool mute;    /* the peer cannot be told anything any more */
    bool hung_up; /* QEMU has closed, and what it said last waits for room */

    bool ping_due, pong_due;
    uint8_t pong[FRAMES_CONTROL_MAX]; /* what the last ping said */
    size_t pong_size;
    int64_t heard_ms; /* monotonic: bytes came from the peer */
    int64_t moved_ms; /* the peer took bytes, or a frame was begun */
    int64_t ping_ms;  /* the next ping is due */

    size_t up_at, up_end; /* of `up`: what QEMU has not taken */
    uint8_t read[READ_SIZE];
    uint8_t up[UP_SIZE];
    struct pour pour; /* from QEMU to the peer */
};

#endif
