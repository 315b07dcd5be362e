/* Actions: each turned into what the keyboard and the pointer do. Private to display/. No lock is held. */
#ifndef BERTHOS_DISPLAY_PERFORM_H
#define BERTHOS_DISPLAY_PERFORM_H

#include "display/turn.h"

/* Whether this guest can do an action: what it needs is there. ERROR_UNTYPABLE. */
int perform_check(const struct turn *turn, const struct action *action, struct error *err);

/* Performs one whole action, with its modifiers around it, until QEMU has no more of it to deliver. Errors as
 * display_perform(); what is down then is for the caller to release. */
int perform_action(struct turn *turn, const struct action *action, struct error *err);

#endif
