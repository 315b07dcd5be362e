/*
 * Errors as values.
 *
 * The contract, kept by every function of the project that can fail:
 * - `struct error *err` is the last argument and is never NULL;
 * - on failure the function returns -1 or NULL (or false where it says so) and has set *err;
 * - on success *err is untouched;
 * - the text is one sentence for the person who must act: what was tried, on what, what happened, what to do.
 * errno does not cross a part: it is turned into words where it is seen.
 */
#ifndef BERTHOS_BASE_ERROR_H
#define BERTHOS_BASE_ERROR_H

#include <stdarg.h>

/* What kind of failure it is. protocol/error_words.h gives each its machine word and HTTP status. */
enum error_code {
    ERROR_NONE = 0,
    ERROR_INTERNAL,     /* a fault of ours or of the host that no caller can mend by asking differently */
    ERROR_BAD_REQUEST,  /* the input is malformed or out of its bounds */
    ERROR_UNAUTHORIZED, /* no token, an unknown token, or one without the capability */
    ERROR_WRONG_CODE,   /* the pairing code does not match */
    ERROR_FORBIDDEN,    /* Host, Origin or fetch metadata of another site */
    ERROR_INELIGIBLE,   /* the doctor's report is red */
    ERROR_NOT_FOUND,
    ERROR_METHOD,        /* the path is there, the method is not */
    ERROR_UNPARKED,      /* the node accepts no new leases */
    ERROR_LEASE_LIVE,    /* every berth is taken */
    ERROR_FRAME_CHANGED, /* the screen has another size than the one that the coordinates refer to */
    ERROR_PAUSED,        /* the guest is paused: input would be lost */
    ERROR_CANCELLED,     /* the caller has gone or given up */
    ERROR_NO_CAPACITY,   /* the host cannot hold the asked shape now */
    ERROR_OS_REFUSED,    /* a guest system that this node does not offer */
    ERROR_BAD_SHAPE,     /* vcpu, mem_gib or disk_gib is zero or absurd */
    ERROR_TOO_LARGE,     /* the body is over its limit */
    ERROR_UNTYPABLE,     /* text or key that cannot be entered exactly on this guest */
    ERROR_SLOW_DOWN,     /* rate limit */
    ERROR_TOO_MANY,      /* as many viewers as there may be */
    ERROR_GUEST_FAILED,  /* the guest could not be made usable, or does not answer */
    ERROR_HYPERVISOR,    /* libvirt does not answer */
    ERROR_ENDING,        /* the lease is being ended and its guest is not gone yet */
    ERROR_TIMEOUT,       /* a deadline passed */
    ERROR_CONFIG,        /* node.toml or client.toml is wrong */
    ERROR_IMAGE,         /* the guest image is missing, stale, tampered or unreadable */
    ERROR_CODE_COUNT
};

struct error {
    enum error_code code;
    char text[1024]; /* a sentence, UTF-8, always terminated; too long is cut */
};

#define ERROR_INIT                                                                                           \
    {                                                                                                        \
        .code = ERROR_NONE, .text = ""                                                                       \
    }

/* Sets *err. Always returns -1, so that `return error_set(...)` reads well. */
int error_set(struct error *err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Like error_set(), with ": " and the description of `errnum` (an errno value) at the end. Returns -1. */
int error_set_errno(struct error *err, enum error_code code, int errnum, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts "<formatted>: " before the text of an error that is set already; its code stays. Returns -1. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Makes it a failure of another kind; the text stays. Returns -1. */
int error_recode(struct error *err, enum error_code code);

#endif
