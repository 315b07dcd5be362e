#include "method.h"

#include <stdlib.h>
#include <string.h>

#include <xcb-imdkit/imdkit.h>

#include "wire.h"

/* Bytes in one commit: xterm looks a committed string up in a buffer of its own, of 500 bytes. */
enum { COMMIT_BYTES = 240 };

struct method {
    xcb_im_t *im;
    method_take *take;
    void *context;
};

/* The bytes of the next commit: whole characters. */
static size_t piece(const char *text, size_t size)
{
    size_t length = size < COMMIT_BYTES ? size : COMMIT_BYTES;
    while (length < size && length > 1 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

/*
 * XIM carries compound text (X Consortium, "Compound Text Encoding"). Its section for UTF-8 holds every
 * character as it is; a conversion to the older character sets would not bring all of them back as they were.
 */
static void commit(struct method *method, xcb_im_input_context_t *ic, const char *text, size_t size)
{
    static const char before[] = "\033%G", after[] = "\033%@";
    char compound[COMMIT_BYTES + sizeof before + sizeof after];
    for (size_t at = 0, length; at < size; at += length) {
        length = piece(text + at, size - at);
        memcpy(compound, before, 3);
        memcpy(compound + 3, text + at, length);
        memcpy(compound + 3 + length, after, 3);
        xcb_im_commit_string(method->im, ic, XCB_XIM_LOOKUP_CHARS, compound, (uint32_t)length + 6, 0);
    }
}

/*
 * The library starts its conversion mode (all keys come here) before this is called for a trigger key; it
 * ends again behind the commit. A key that came in between goes back.
 */
static void on_message(xcb_im_t *im, xcb_im_client_t *client, xcb_im_input_context_t *ic,
                       const xcb_im_packet_header_fr_t *header, void *frame, void *argument, void *user)
{
    (void)client;
    (void)frame;
    struct method *method = user;
    if (header->major_opcode == XCB_XIM_TRIGGER_NOTIFY) {
        size_t size;
        const char *text = method->take(method->context, &size);
        if (text)
            commit(method, ic, text, size);
        xcb_im_preedit_end(im, ic);
    } else if (header->major_opcode == XCB_XIM_FORWARD_EVENT) {
        xcb_im_forward_event(im, ic, argument);
    }
}

struct method *method_open(xcb_connection_t *x, int screen, method_take *take, void *context)
{
    uint32_t style_list[] = {XCB_IM_PreeditPosition | XCB_IM_StatusNothing,
                             XCB_IM_PreeditNothing | XCB_IM_StatusNothing,
                             XCB_IM_PreeditNone | XCB_IM_StatusNone};
    char compound_text[] = "COMPOUND_TEXT";
    xcb_im_encoding_t encoding_list[] = {compound_text};
    xcb_im_ximtriggerkey_fr_t keys[] = {{.keysym = HELPER_TRIGGER_KEYSYM}};
    const xcb_im_styles_t styles = {3, style_list};
    const xcb_im_encodings_t encodings = {1, encoding_list};
    const xcb_im_trigger_keys_t on = {1, keys}, off = {0, NULL};
    xcb_screen_t *root = xcb_setup_roots_iterator(xcb_get_setup(x)).data;
    xcb_window_t window = xcb_generate_id(x);
    struct method *method = calloc(1, sizeof *method);
    if (!method)
        return NULL;
    *method = (struct method){.take = take, .context = context};
    xcb_create_window(x, XCB_COPY_FROM_PARENT, window, root->root, 0, 0, 1, 1, 0,
                      XCB_WINDOW_CLASS_INPUT_OUTPUT, root->root_visual, 0, NULL);
    method->im = xcb_im_create(x, screen, window, "berthos", XCB_IM_ALL_LOCALES, &styles, &on, &off,
                               &encodings, 0, on_message, method);
    if (method->im && xcb_im_open_im(method->im))
        return method;
    free(method);
    return NULL;
}

bool method_event(struct method *method, xcb_generic_event_t *event)
{
    return xcb_im_filter_event(method->im, event);
}
