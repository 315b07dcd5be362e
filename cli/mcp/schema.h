/*
 * JSON Schemas of what tools take and answer, made from tables. Only keywords that mean the same in draft 7
 * and 2020-12 are used: old revisions of MCP leave the dialect open.
 */
#ifndef BERTHOS_CLI_MCP_SCHEMA_H
#define BERTHOS_CLI_MCP_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>

#include "base/member.h"
#include "protocol/action.h"

/* What a member of an answer is. */
enum mcp_kind {
    MCP_INTEGER,
    MCP_NUMBER,
    MCP_BOOLEAN,
    MCP_STRING,
    MCP_OBJECT,
    MCP_SIZE,    /* {"width", "height"} */
    MCP_REGION,  /* [x, y, width, height] */
    MCP_CHANGED, /* the same, or where nothing of it is seen */
    MCP_PICTURE, /* what berth_screenshot answers */
};

/* A member of what a tool answers as structured content. */
struct mcp_member {
    const char *name;
    enum mcp_kind kind;
    bool needed, nullable;
    const char *help; /* a sentence without a period */
};

/* A picture's members; more may follow. */
#define MCP_PICTURE_MEMBERS                                                                                  \
    {"width", MCP_INTEGER, true, false, "of the picture, pixels"},                                           \
        {"height", MCP_INTEGER, true, false, "of the picture, pixels"},                                      \
        {"frame", MCP_SIZE, true, false, "the size of the screen"},                                          \
        {"scale", MCP_NUMBER, true, false, "pixels of the picture for one pixel of the screen"},             \
    {                                                                                                        \
        "still", MCP_BOOLEAN, false, false,                                                                  \
            "false where the screen was still changing when the time for it was over"                        \
    }

/* The kind of a field that is an array of min..max actions, beside those of the table of actions. */
enum { MCP_FIELD_ACTIONS = 100 };

/* What a tool takes: its fields, and in the end these two. A new reference. */
json_t *mcp_schema_arguments(const struct member *fields, size_t count, bool screenshot, bool frame);

/* What a tool answers; members ended by one without a name. A new reference. */
json_t *mcp_schema_result(const struct mcp_member *members);

#endif
