/*
 * A guest's screen over HTTP: pictures and actions, decoded, performed and answered in one way for every
 * server that shows one (CONTRACT.md sections 4 and 5).
 */
#ifndef BERTHOS_WEB_SCREEN_ANSWERS_H
#define BERTHOS_WEB_SCREEN_ANSWERS_H

#include "base/error.h"
#include "display/display.h"
#include "web/exchange.h"

/* Whose screen it is. The functions do what display_screenshot(), display_perform() and display_changes()
 * say. */
struct screen_target {
    void *context; /* borrowed, handed to each */
    struct picture *(*look)(void *context, const struct picture_request *request, struct cancel *cancel,
                            struct error *err);
    int (*act)(void *context, const struct display_request *request, struct cancel *cancel,
               struct display_outcome *outcome, struct error *err);
    int (*changes)(void *context, uint64_t since, struct display_changes *changes, struct error *err);
};

/* Answers a request for a picture: what is wanted stands in its query. */
int screen_answer_picture(struct exchange *exchange, const struct screen_target *target, struct error *err);

/* Answers a request with actions in its body. */
int screen_answer_actions(struct exchange *exchange, const struct screen_target *target, struct error *err);

#endif
