/*
 * node.toml, the operator's advertisement (CONTRACT.md section 1). One table of keys drives parsing, the
 * defaults, the commented file that the first start writes, and docs; everything that is wrong is refused
 * with file, line, column and the values allowed.
 */
#ifndef BERTHOS_CONFIG_CONFIG_H
#define BERTHOS_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

enum config_class { CLASS_VM_GUEST, CLASS_DEDICATED_SERVER, CLASS_LAPTOP };
enum config_chassis { CHASSIS_UNKNOWN, CHASSIS_SERVER, CHASSIS_VM_HOST, CHASSIS_LAPTOP };
enum config_intent { INTENT_PRIVATE, INTENT_PUBLIC };
enum config_guest_os { GUEST_OS_LINUX, GUEST_OS_WINDOWS_HOME, GUEST_OS_WINDOWS_PRO, GUEST_OS_MACOS };
enum config_egress { EGRESS_DEFAULT_DENY, EGRESS_DEFAULT_ALLOW };
enum config_accel { ACCEL_KVM, ACCEL_TCG };
/* WARM_DEFAULT: not set; doctor_warm() decides by what the host has. It has no word. */
enum config_warm { WARM_RAM, WARM_DISK, WARM_OFF, WARM_DEFAULT };

/* Strings are owned by the struct and never NULL unless the comment says so. */
struct config {
    char *home; /* $BERTHOS_HOME, absolute */
    char *path; /* the node.toml that was read; it may not be there yet */
    enum config_class class;
    enum config_chassis chassis;
    enum config_intent intent;
    enum config_guest_os guest_os;
    char *bind;   /* as written; whether it is loopback is loopback_address()'s to say */
    int64_t port; /* 0..65535; 0 lets the kernel choose */
    enum config_egress egress;
    bool always_on;
    bool wired;
    char *image;        /* NAME:VERSION */
    char *state_dir;    /* absolute; holds images/, overlays/, golden/ */
    char *image_dir;    /* absolute; STATE_DIR/images unless set */
    char *image_digest; /* 64 hex digits, or NULL when not pinned */
    int64_t berths;
    int64_t vcpu_overcommit;
    char *libvirt_uri;
    enum config_accel accel;
    int64_t vcpu;
    int64_t mem_gib;
    int64_t disk_gib;
    int64_t max_lease_seconds;     /* 0 = no limit */
    int64_t start_timeout_seconds; /* resolved: 60, or 300 with tcg, unless set */
    enum config_warm warm;
};

/*
 * Reads HOME/node.toml; where it is not there, gives the defaults. NULL with ERROR_CONFIG: "FILE:LINE:COLUMN:
 * what is wrong and what is allowed". The result is *owned*: config_free().
 */
struct config *config_load(const char *home, struct error *err);

/*
 * Whether node.toml still says what was read from it: 0, or -1 with ERROR_CONFIG that names what differs, or
 * says why it cannot be read any more. Comments and order do not matter.
 */
int config_check_unchanged(const struct config *config, struct error *err);

/* Writes HOME/node.toml (0600) with every key, its default and a comment, unless the file is there already.
 */
int config_write_default(const char *home, struct error *err);

void config_free(struct config *config);
CLEANUP_DEFINE(config, struct config *, config_free);
#define CLEANUP_CONFIG CLEANUP(cleanup_config)

/* The words of node.toml for a value; "unknown" for a value outside the enum, or that is not written there.
 * Borrowed, static. */
const char *config_class_word(enum config_class value);
const char *config_chassis_word(enum config_chassis value);
const char *config_intent_word(enum config_intent value);
const char *config_guest_os_word(enum config_guest_os value);
const char *config_accel_word(enum config_accel value);
const char *config_warm_word(enum config_warm value);

/* Reads an intent's word. False for any other word. */
bool config_intent_from(const char *word, enum config_intent *value);

#endif
