/* What cmocka.h needs before it, in one place: include this first in every unit test. */
#ifndef BERTHOS_TESTS_UNIT_H
#define BERTHOS_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
