/*
 * What the three programs of the helper say to each other over one Unix socket: the client (run by the node
 * through the agent), the daemon (helperd, in the desktop's session) and the input method in GTK programs.
 *
 * One connection, one request, one answer; the answer ends with the connection. A request is one line, words
 * between spaces, ending with a newline:
 *
 * - type SIZE, and behind the line SIZE bytes of UTF-8; answered once all of it is entered
 * - click X Y BUTTON COUNT, where BUTTON is back or forward
 * - scroll X Y DX
 * - release
 * - focus: a field of a program got or lost the focus; no answer
 * - take: answered with the text that waits for the trigger key, or nothing
 *
 * All but these two are answered with a line of JSON, {"ok":true} or
 * {"ok":false,"typed":N,"error":"phrase"}.
 */
#ifndef HELPER_WIRE_H
#define HELPER_WIRE_H

/* Made by systemd (berthos-helper.socket) in a folder of root's, for `agent` alone. */
#define HELPER_SOCKET "/run/berthos/helper"

#define HELPER_NO_FIELD "no text field has the focus"

enum { HELPER_TEXT_MAX_BYTES = 65536, HELPER_LINE_MAX = 128, HELPER_ANSWER_MAX = 512 };

/*
 * The key that asks the focused program to take the waiting text: XF86Finance, on every PC layout's key code
 * for it, on no keyboard's keys here, and a key that programs do nothing with.
 */
enum { HELPER_TRIGGER_KEYSYM = 0x1008ff3c };

#endif
