/*
 * What the three programs of the input helper say to each other over one Unix socket: the client (hands, run
 * by the node through the agent), the daemon (handsd, in the desktop's session) and the input method in GTK
 * programs.
 *
 * One connection, one request, one answer; the answer ends with the connection. A request is one line, words
 * between spaces, ending with a newline:
 *
 *   type SIZE            and SIZE bytes of UTF-8        answered with a line of JSON once all of it is
 * entered click X Y BUTTON COUNT                              BUTTON is back or forward scroll X Y DX release
 *   focus                                               a program's field got or lost the focus; no answer
 *   take                                                answered with the text that waits for the trigger
 * key, or nothing
 *
 * The JSON is {"ok":true} or {"ok":false,"typed":N,"error":"phrase"}.
 */
#ifndef HANDS_WIRE_H
#define HANDS_WIRE_H

/* Made by systemd (berthos-hands.socket) in a folder of root's, for `agent` alone. */
#define HANDS_SOCKET "/run/berthos/hands"

#define HANDS_NO_FIELD "no text field has the focus"

enum { HANDS_TEXT_MAX_BYTES = 65536, HANDS_LINE_MAX = 128, HANDS_ANSWER_MAX = 512 };

/*
 * The key that asks the focused program to take the waiting text: XF86Finance, on every PC layout's key code
 * for it, on no keyboard's keys here, and a key that programs do nothing with.
 */
enum { HANDS_TRIGGER_KEYSYM = 0x1008ff3c };

#endif
