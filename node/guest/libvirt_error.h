/* What libvirt says about a call that failed. Private to guest/. */
#ifndef BERTHOS_GUEST_LIBVIRT_ERROR_H
#define BERTHOS_GUEST_LIBVIRT_ERROR_H

#include "base/error.h"

/* Sets an error from libvirt's last one of this thread. Returns -1. */
int libvirt_error(enum error_code code, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
