/*
 * What clang's analyzer is told of base/error.h and cannot see from another file: all of these give -1.
 * tidy.py includes it before every file but error.c.
 */
#ifndef BERTHOS_TESTS_TIDY_H
#define BERTHOS_TESTS_TIDY_H

#include "base/error.h"

#define error_set(...)       ((error_set)(__VA_ARGS__), -1)
#define error_set_errno(...) ((error_set_errno)(__VA_ARGS__), -1)
#define error_prefix(...)    ((error_prefix)(__VA_ARGS__), -1)
#define error_recode(...)    ((error_recode)(__VA_ARGS__), -1)

#endif
