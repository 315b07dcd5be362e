#include "mcp/fault.h"

#include <stdio.h>
#include <string.h>

#include "mcp/message.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *code, *text;
} table[] = {
    {"not_paired", "This computer is not paired with a Berthos node. Run: berth pair"},
    {"client_config", "The pairing of this computer cannot be read. Run: berth pair"},
    {"other_node", "What answers is not the node that this computer is paired with; the token was not sent. "
                   "If the node was "
                   "made anew, run: berth pair"},
    {"node_down", "No Berthos node answers. Run: berth node up (or name the node with --url)"},
    {"unauthorized", "The node does not accept the token of this pairing. Run: berth pair"},
    {"no_lease", "No lease is live, so there is no desktop. Run: berth up"},
    {"several_leases", "Several leases are live. Start this server with --lease ID; berth status lists them"},
    {"lease_ended",
     "The lease has ended and its desktop is gone. Run: berth up. Then begin with a new screenshot"},
    {"frame_changed",
     "The screen's size is no longer what the coordinates refer to; nothing was done. Take a new screenshot "
     "with berth_screenshot and read the coordinates from that"},
    {"guest_paused", "The guest is paused, so nothing was done. Try again when it runs"},
    {"guest_failed",
     "The guest does not answer. Try again; if it goes on, end the lease with berth_end and run: berth up"},
    {"hypervisor", "The node's hypervisor does not answer. Try again in a few seconds"},
    {"ending", "The lease is ending and its guest is not gone yet. Call berth_end again in a few seconds"},
    {"timeout", "It took longer than the node waits. Take a screenshot to see how far it came"},
    {"cancelled", "It was cancelled on the node's side. Take a screenshot to see how far it came"},
    {"too_many", "Too many calls are under way. Wait until some have been answered"},
    {"slow_down", "The node asks to slow down. Try again in a minute"},
    {"too_large", "What was sent is larger than the node takes. Split it"},
    {"connection_lost",
     "The connection to the node broke off, or what answers there is not a Berthos node. Run: berth status. "
     "Then take a screenshot to see how far it came"},
    {"picture_too_large", "The picture cannot be made small enough. Use berth_zoom on a part of the screen"},
    {"node_fault", "The node has a fault of its own and did not do it. Its log says more. Run: berth doctor"},
};

int mcp_fault_set(struct mcp_fault *fault, const char *code)
{
    size_t i = 0;
    while (i < COUNT(table) - 1 && strcmp(table[i].code, code) != 0)
        i++;
    fault->code = table[i].code;
    snprintf(fault->text, sizeof fault->text, "%s", table[i].text);
    return -1;
}

int mcp_fault_arguments(struct mcp_fault *fault, const struct error *err)
{
    fault->code = err->code == ERROR_UNTYPABLE ? "untypable" : "bad_request";
    snprintf(fault->text, sizeof fault->text, "%s", err->text);
    return -1;
}

int mcp_fault_from_node(struct mcp_fault *fault, const char *word, const struct error *err)
{
    if (strcmp(word, "bad_request") == 0 || strcmp(word, "untypable") == 0)
        return mcp_fault_arguments(fault, err);
    if (strcmp(word, "not_found") == 0)
        return mcp_fault_set(fault, "lease_ended");
    if (word[0])
        return mcp_fault_set(fault, word); /* one that is not in the table is a fault of the node */
    return mcp_fault_set(fault, err->code == ERROR_NOT_FOUND   ? "node_down"
                                : err->code == ERROR_FORBIDDEN ? "other_node"
                                : err->code == ERROR_TIMEOUT   ? "timeout"
                                : err->code == ERROR_TOO_LARGE ? "picture_too_large"
                                                               : "connection_lost");
}

json_t *mcp_fault_result(const struct mcp_fault *fault)
{
    json_t *meta = fault->code[0] ? json_pack("{s:s}", "dev.berthos/code", fault->code) : NULL;
    return json_pack("{s:[{s:s, s:o}], s:b, s:o*}", "content", "type", "text", "text", mcp_text(fault->text),
                     "isError", 1, "_meta", meta);
}
