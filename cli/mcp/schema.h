/*
 * JSON Schemas of the tools' arguments and results, made from the table of actions. Only keywords that mean
 * the same in draft 7 and 2020-12 are used: old revisions of MCP leave the dialect open.
 */
#ifndef BERTHOS_CLI_MCP_SCHEMA_H
#define BERTHOS_CLI_MCP_SCHEMA_H

#include <jansson.h>

#include "protocol/action.h"

/* All of these give a new reference. */

/* What berth_OP takes: the fields of the op, `screenshot` and, where it has coordinates, `frame`. */
json_t *mcp_schema_op(const struct action_op *op);

/* What berth_batch, berth_zoom and berth_screenshot take, and a tool without arguments. */
json_t *mcp_schema_batch(void);
json_t *mcp_schema_zoom(void);
json_t *mcp_schema_screenshot(void);
json_t *mcp_schema_nothing(void);

/* What an action, a picture, a part of it, the status and the end answer as structured content. */
json_t *mcp_schema_done(void);
json_t *mcp_schema_picture(void);
json_t *mcp_schema_part(void);
json_t *mcp_schema_status(void);
json_t *mcp_schema_receipt(void);

#endif
