/* Other spellings, as models were taught them, turned into the fields of the table of actions. Pure. */
#ifndef BERTHOS_CLI_MCP_ALIASES_H
#define BERTHOS_CLI_MCP_ALIASES_H

#include <jansson.h>

#include "base/document.h"
#include "base/error.h"
#include "protocol/action.h"

/* 640.0 is 640: some clients know only one kind of number. A new reference, to a copy. */
json_t *mcp_aliases_whole(json_t *value);

/* region as {"x": .., "y": .., "width": .., "height": ..} becomes an array. */
void mcp_aliases_region(json_t *action);

/* All spellings of an op's fields. ERROR_BAD_REQUEST where one is wrong, or stands beside what it means. */
int mcp_aliases_read(const struct action_op *op, json_t *action, struct error *err);

/* The op of a name of the table or of another spelling; NULL for none. */
const struct action_op *mcp_aliases_op(const char *name);

#endif
