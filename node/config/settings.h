/*
 * The settings of a node: struct config, and the keys of node.toml as a table of its members, which drives
 * parsing, defaults, the file that the first start writes, and is compared with the manual by a test. Adding
 * a key is adding a member here and a row in settings.c.
 */
#ifndef BERTHOS_CONFIG_SETTINGS_H
#define BERTHOS_CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/member.h"
#include "config/toml_reader.h"

#define CONFIG_BERTHS_MAX     64
#define CONFIG_OVERCOMMIT_MAX 16

enum config_class { CLASS_VM_GUEST, CLASS_DEDICATED_SERVER, CLASS_LAPTOP };
enum config_chassis { CHASSIS_UNKNOWN, CHASSIS_SERVER, CHASSIS_VM_HOST, CHASSIS_LAPTOP };
enum config_intent { INTENT_PRIVATE, INTENT_PUBLIC };
enum config_guest_os { GUEST_OS_LINUX, GUEST_OS_WINDOWS_HOME, GUEST_OS_WINDOWS_PRO, GUEST_OS_MACOS };
enum config_egress { EGRESS_DEFAULT_DENY, EGRESS_DEFAULT_ALLOW };
enum config_accel { ACCEL_KVM, ACCEL_TCG };
/* WARM_DEFAULT: not set; room_warm() decides by what the host has. It has no word. */
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
 * A row: the member, whose fallback is the default as text without quotes, and whose help is for the written
 * file, in lines.
 */
struct config_key {
    struct member member;
    const char
        *derived; /* the default in words, where it depends on something else and there is no fallback */
};

/* The table, ended by a row without a name. */
extern const struct config_key config_keys[];

/* The row of a name, or NULL. */
const struct config_key *config_key_find(const char *name);

/* What a key takes: "a whole number from 1 to 64", "\"kvm\" or \"tcg\"". *Owned*. */
char *config_key_allowed(const struct config_key *key);

/*
 * The member's value as node.toml, and JSON as well, writes it: "\"kvm\"", "2", "true". *Owned*, NULL for a
 * string or word that is not set.
 */
char *config_key_text(const struct config_key *key, const struct config *config);

/* Sets the member, which is zero or was set before, to the row's default; where that depends on something
 * else, to NULL, 0 or, of a word's enum, the member after those that have words. */
void config_key_reset(const struct config_key *key, struct config *config);

/*
 * Sets the member from an entry of a file. path: the file's, for the error. -1 with ERROR_CONFIG
 * "PATH:LINE:COLUMN: ..." when the type or value is not what the row allows.
 */
int config_key_set(const struct config_key *key, const struct toml_entry *entry, const char *path,
                   struct config *config, struct error *err);

/* The words of node.toml for a value; "unknown" for a value outside the enum, or that is not written there.
 * Borrowed, static. */
#define CONFIG_WORDS(WORD) WORD(class) WORD(chassis) WORD(intent) WORD(guest_os) WORD(accel) WORD(warm)
#define CONFIG_WORD(name)  const char *config_##name##_word(enum config_##name value);
CONFIG_WORDS(CONFIG_WORD)

/* Reads an intent's word. False for any other word. */
bool config_intent_from(const char *word, enum config_intent *value);

#endif
