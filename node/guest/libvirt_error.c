#include "guest/libvirt_error.h"

#include <libvirt/virterror.h>
#include <stdarg.h>
#include <stdio.h>

int libvirt_error(enum error_code code, struct error *err, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    virErrorPtr last = virGetLastError();
    return error_set(err, code, "%s: libvirt says: %s", what,
                     last && last->message ? last->message : "nothing about why");
}
