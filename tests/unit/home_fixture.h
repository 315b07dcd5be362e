/* A folder of a test's own as $BERTHOS_HOME: made before it, removed after it and after what at_end() undoes.
 */
#ifndef BERTHOS_TESTS_HOME_FIXTURE_H
#define BERTHOS_TESTS_HOME_FIXTURE_H

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "unit.h"

static char *home;

static int make_home(void **state)
{
    (void)state;
    char pattern[] = "/tmp/berthos-unit-XXXXXX";
    home = text_copy(mkdtemp(pattern));
    return home ? 0 : -1;
}

static int remove_home(void **state)
{
    unit_end(state);
    CLEANUP_FREE char *command = text_format("rm -rf '%s'", home);
    int status = system(command);
    free(home);
    return status;
}

#endif
