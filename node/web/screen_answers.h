/*
 * A guest's screen over HTTP (CONTRACT.md sections 4 and 5): requests for pictures and actions are decoded
 * here, and what came of them is encoded, in one way for every server that shows a screen. Who takes the
 * picture and who performs stands in the server's route, between the two.
 */
#ifndef BERTHOS_WEB_SCREEN_ANSWERS_H
#define BERTHOS_WEB_SCREEN_ANSWERS_H

#include "base/cleanup.h"
#include "base/error.h"
#include "display/display.h"
#include "web/exchange.h"

/* What the query asks for; it borrows from the exchange. ERROR_BAD_REQUEST. */
int screen_decode_screenshot(const struct exchange *exchange, struct picture_request *request,
                             struct error *err);

/* Answers with the picture, which is taken over. Returns 0. */
int screen_answer_screenshot(struct exchange *exchange, const struct picture_request *request,
                             struct picture *picture);

/* A request with actions, decoded. Starts as {0}. */
struct screen_actions {
    struct display_act act; /* what is to be done; points into what follows */
    struct action *actions; /* owned */
    size_t count;
    struct picture_request picture;
};
void screen_clear_actions(struct screen_actions *asked);
#define CLEANUP_SCREEN_ACTIONS CLEANUP(screen_clear_actions)

/* All of the body is decoded before anything may be done. ERROR_BAD_REQUEST. */
int screen_decode_actions(const struct exchange *exchange, struct screen_actions *asked, struct error *err);

/* Answers with what was done; acted->picture is taken over. Returns 0. */
int screen_answer_actions(struct exchange *exchange, const struct screen_actions *asked,
                          const struct display_acted *acted);

/* Answers, or sets *err to, why it was not done, and how much was. As a handler returns. */
int screen_refuse_actions(struct exchange *exchange, const struct screen_actions *asked,
                          const struct display_acted *acted, struct error *err);

#endif
