#include "base/error.h"

#include <stdio.h>
#include <string.h>

int error_set(struct error *err, enum error_code code, const char *format, ...)
{
    va_list args;
    err->code = code;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return -1;
}

int error_set_errno(struct error *err, enum error_code code, int errnum, const char *format, ...)
{
    va_list args;
    char reason[128];
    err->code = code;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", strerror_r(errnum, reason, sizeof reason));
    return -1;
}

int error_prefix(struct error *err, const char *format, ...)
{
    va_list args;
    char rest[sizeof err->text];
    memcpy(rest, err->text, sizeof rest);
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", rest);
    return -1;
}

int error_recode(struct error *err, enum error_code code)
{
    err->code = code;
    return -1;
}
