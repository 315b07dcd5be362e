/*
 * Pictures as a model can take them: small enough in bytes and pixels, PNG where that fits, else JPEG of
 * falling quality.
 */
#ifndef BERTHOS_CLI_MCP_PICTURE_H
#define BERTHOS_CLI_MCP_PICTURE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "mcp/fault.h"
#include "mcp/node.h"
#include "mcp/scale.h"

/* Clients cut a tool result at about a million bytes; the picture is most of it, as base64. */
enum { MCP_BASE64_MAX = 960000 };

/* Of an answer that holds a picture: a noisy screen of the largest size, as base64. */
enum { MCP_ANSWER_MAX_BYTES = 192 * 1024 * 1024 };

struct mcp_picture {
    const char *mime;       /* static */
    char *base64;           /* owned */
    struct mcp_scale scale; /* of a part: only the frame and the part's own size count */
    bool unsettled;         /* it was to be still, and was not in time */
};

/* The whole screen, once it has been still for settle_ms; 0 takes it as it is. */
int mcp_picture_screen(struct mcp_node *node, struct mcp_stop *stop, const char *lease, int64_t settle_ms,
                       struct mcp_picture *picture, struct mcp_fault *fault);

/* A part of it, at full resolution where that fits. */
int mcp_picture_part(struct mcp_node *node, struct mcp_stop *stop, const char *lease, struct mcp_box box,
                     struct mcp_picture *picture, struct mcp_fault *fault);

/* What `screenshot` in the body of actions should ask for. A new reference. */
json_t *mcp_picture_wish(const struct mcp_scale *last);

/*
 * The picture of an answer to actions; one that came too large is fetched again. answer: the document.
 */
int mcp_picture_of_answer(struct mcp_node *node, struct mcp_stop *stop, const char *lease, json_t *answer,
                          struct mcp_picture *picture, struct mcp_fault *fault);

/* {"width", "height"}. A new reference. */
json_t *mcp_picture_size(int32_t width, int32_t height);

/* What a tool says of a picture of the whole screen. A new reference. */
json_t *mcp_picture_describe(const struct mcp_picture *picture);

void mcp_picture_clear(struct mcp_picture *picture);
#define CLEANUP_MCP_PICTURE CLEANUP(mcp_picture_clear)

#endif
