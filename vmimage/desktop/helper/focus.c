#include "focus.h"

#include <stdlib.h>
#include <string.h>

enum { PROTOCOLS_MAX = 32, PARENTS_MAX = 16 };

/* Far from openbox's own numbers, which count from 1. */
enum { FIRST_SERIAL = 0x42000000 };

static bool intern(xcb_connection_t *x, const char *name, xcb_atom_t *atom)
{
    xcb_intern_atom_reply_t *reply =
        xcb_intern_atom_reply(x, xcb_intern_atom(x, false, (uint16_t)strlen(name), name), NULL);
    *atom = reply ? reply->atom : XCB_NONE;
    free(reply);
    return *atom != XCB_NONE;
}

bool focus_open(struct focus *focus)
{
    focus->serial = FIRST_SERIAL;
    return intern(focus->x, "WM_PROTOCOLS", &focus->protocols) &&
           intern(focus->x, "_NET_WM_PING", &focus->ping);
}

xcb_window_t focus_window(struct focus *focus)
{
    xcb_get_input_focus_reply_t *reply =
        xcb_get_input_focus_reply(focus->x, xcb_get_input_focus(focus->x), NULL);
    xcb_window_t window = reply && reply->focus > XCB_INPUT_FOCUS_POINTER_ROOT ? reply->focus : XCB_NONE;
    free(reply);
    return window;
}

static bool answers_pings(struct focus *focus, xcb_window_t window)
{
    xcb_get_property_reply_t *reply = xcb_get_property_reply(
        focus->x,
        xcb_get_property(focus->x, false, window, focus->protocols, XCB_ATOM_ATOM, 0, PROTOCOLS_MAX), NULL);
    bool found = false;
    if (reply && reply->format == 32) {
        const xcb_atom_t *atoms = xcb_get_property_value(reply);
        for (uint32_t i = 0; i < reply->value_len; i++)
            found |= atoms[i] == focus->ping;
    }
    free(reply);
    return found;
}

static xcb_window_t parent_of(struct focus *focus, xcb_window_t window)
{
    xcb_query_tree_reply_t *reply = xcb_query_tree_reply(focus->x, xcb_query_tree(focus->x, window), NULL);
    xcb_window_t parent = reply ? reply->parent : XCB_NONE;
    free(reply);
    return parent;
}

bool focus_ping(struct focus *focus, xcb_window_t window)
{
    for (int i = 0; i < PARENTS_MAX && window != XCB_NONE && window != focus->root; i++) {
        if (answers_pings(focus, window)) {
            xcb_client_message_event_t ping = {.response_type = XCB_CLIENT_MESSAGE,
                                               .format = 32,
                                               .window = window,
                                               .type = focus->protocols};
            ping.data.data32[0] = focus->ping;
            ping.data.data32[1] = ++focus->serial;
            ping.data.data32[2] = window;
            xcb_send_event(focus->x, false, window, XCB_EVENT_MASK_NO_EVENT, (const char *)&ping);
            return true;
        }
        window = parent_of(focus, window);
    }
    return false;
}

bool focus_is_answer(const struct focus *focus, const xcb_generic_event_t *event)
{
    const xcb_client_message_event_t *message = (const xcb_client_message_event_t *)event;
    return (event->response_type & 0x7f) == XCB_CLIENT_MESSAGE && message->type == focus->protocols &&
           message->format == 32 && message->data.data32[0] == focus->ping &&
           message->data.data32[1] == focus->serial;
}

void focus_listen(struct focus *focus, bool on)
{
    const uint32_t mask = on ? XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY : XCB_EVENT_MASK_NO_EVENT;
    xcb_change_window_attributes(focus->x, focus->root, XCB_CW_EVENT_MASK, &mask);
}
