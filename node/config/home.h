/* $BERTHOS_HOME: where the node and the client's commands keep what is theirs (CONTRACT.md section 1). */
#ifndef BERTHOS_CONFIG_HOME_H
#define BERTHOS_CONFIG_HOME_H

#include "base/error.h"

/* $BERTHOS_HOME, else ~/.berthos, absolute. Never NULL. *Owned*. */
char *config_home(void);

/* Makes the home folder 0700; refuses one that others may enter or that is somebody else's. */
int config_make_home(const char *home, struct error *err);

#endif
