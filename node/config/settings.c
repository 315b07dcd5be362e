#include "config/settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/document.h"
#include "base/text.h"
#include "config/image_name.h"
#include "protocol/lease.h"

/* The words of each enum, in the order of its members. */
static const char *const class_words[] = {"vm-guest", "dedicated-server", "laptop", NULL};
static const char *const chassis_words[] = {"unknown", "server", "vm-host", "laptop", NULL};
static const char *const intent_words[] = {"private", "public", NULL};
static const char *const guest_os_words[] = {"linux", "windows-home-oem", "windows-pro-oem", "macos", NULL};
static const char *const egress_words[] = {"default-deny", "default-allow", NULL};
static const char *const accel_words[] = {"kvm", "tcg", NULL};
static const char *const warm_words[] = {"ram", "disk", "off", NULL};

static const char *word_of(const char *const *words, unsigned value)
{
    for (unsigned i = 0; words[i]; i++)
        if (i == value)
            return words[i];
    return "unknown";
}

#define WORD_OF(name)                                                                                        \
    const char *config_##name##_word(enum config_##name value)                                               \
    {                                                                                                        \
        return word_of(name##_words, value);                                                                 \
    }
CONFIG_WORDS(WORD_OF)

/* Text that may stand in a path, a sentence or a domain's XML without surprise. */
static bool is_plain(const char *value)
{
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    return true;
}

static bool address_ok(const char *value)
{
    return value[0] && strlen(value) <= 64 && is_plain(value) && !strchr(value, ' ');
}

static bool folder_ok(const char *value)
{
    return value[0] == '/' && strlen(value) < 1024 && is_plain(value);
}

/*
 * Only a hypervisor of this host: the node opens the guest's display by passing descriptors over libvirt's
 * own socket, and the doctor speaks of this host. A socket elsewhere in the file system is fine.
 */
static bool uri_ok(const char *value)
{
    static const char *const known[] = {"qemu:///system", "qemu:///session"};
    static const char socket[] = "?socket=/";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!text_starts(value, known[i]))
            continue;
        const char *rest = value + strlen(known[i]);
        if (!rest[0])
            return true;
        if (text_starts(rest, socket) && strlen(rest) < 120 &&
            strspn(rest + strlen(socket),
                   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") ==
                strlen(rest + strlen(socket)))
            return true;
    }
    return false;
}

#define MEMBER(name, kind, ...) .member = {#name, kind, MEMBER_AT(struct config, name), __VA_ARGS__}
#define KEY(name, kind, ...)                                                                                 \
    {                                                                                                        \
        MEMBER(name, kind, __VA_ARGS__)                                                                      \
    }
#define DERIVED(name, words, kind, ...)                                                                      \
    {                                                                                                        \
        MEMBER(name, kind, __VA_ARGS__), .derived = words                                                    \
    }

const struct config_key config_keys[] = {
    KEY(class, MEMBER_WORD, .fallback = "vm-guest", .words = class_words,
        .help = "What this machine is. A laptop is never eligible."),
    KEY(chassis, MEMBER_WORD, .fallback = "unknown", .words = chassis_words,
        .help = "The case this machine is in, as you attest it. Public intent needs server or vm-host, and\n"
                "nothing that is measured may contradict it."),
    KEY(intent, MEMBER_WORD, .fallback = "private", .words = intent_words,
        .help = "Who may come: private (you and whom you pair with) or public (a market). Public asks more\n"
                "of the host; see berth doctor --intent public."),
    KEY(guest_os, MEMBER_WORD, .fallback = "linux", .words = guest_os_words,
        .help = "The guest's system. Only linux is leased; the others are understood and fail the doctor."),
    KEY(bind, MEMBER_STRING, .fallback = "127.0.0.1", .check = address_ok, .allowed = "an IP address",
        .help = "Where the node listens: an address of 127.0.0.0/8, or ::1. Anything else fails the doctor."),
    KEY(port, MEMBER_INTEGER, .fallback = "7432", .min = 0, .max = 65535,
        .help = "The port it listens on. 0 lets the kernel choose; the node prints what it got."),
    KEY(egress, MEMBER_WORD, .fallback = "default-deny", .words = egress_words,
        .help = "What a guest may reach: nothing. default-allow is understood and fails the doctor."),
    KEY(always_on, MEMBER_BOOLEAN, .fallback = "false",
        .help = "You attest that this machine stays up. Public intent needs it."),
    KEY(wired, MEMBER_BOOLEAN, .fallback = "false",
        .help = "You attest that this machine is on a cable. Public intent needs it."),
    KEY(image, MEMBER_STRING, .fallback = "berthos-linux-desktop:v1", .check = image_name_valid,
        .allowed = "an image name such as \"berthos-linux-desktop:v1\"",
        .help = "The image that guests start from; berth image build makes it."),
    DERIVED(state_dir, "/var/lib/berthos, or $XDG_STATE_HOME/berthos with qemu:///session", MEMBER_STRING,
            .check = folder_ok, .allowed = "an absolute path",
            .help =
                "What QEMU opens: images/, overlays/, golden/. QEMU's user must be able to enter it, so it\n"
                "cannot lie in this folder."),
    DERIVED(image_dir, "STATE_DIR/images", MEMBER_STRING, .check = folder_ok, .allowed = "an absolute path",
            .help = "Where the images are."),
    DERIVED(
        image_digest, "not set", MEMBER_STRING, .check = digest_valid, .allowed = "64 lower-case hex digits",
        .help = "The sha256 of the image's manifest, as berth image build prints it. Where it is set, no\n"
                "other image will do. Public intent needs it."),
    KEY(berths, MEMBER_INTEGER, .fallback = "1", .min = 1, .max = CONFIG_BERTHS_MAX,
        .help = "How many leases at once. The host must hold them all, of the shape below."),
    KEY(vcpu_overcommit, MEMBER_INTEGER, .fallback = "1", .min = 1, .max = CONFIG_OVERCOMMIT_MAX,
        .help = "How often a host CPU may be promised. Above 1 only with accel = \"tcg\"."),
    KEY(libvirt_uri, MEMBER_STRING, .fallback = "qemu:///system", .check = uri_ok,
        .allowed = "\"qemu:///system\" or \"qemu:///session\", either with ?socket=/PATH (the hypervisor "
                   "must be on this host)",
        .help = "The hypervisor of this host: qemu:///system or qemu:///session. A socket of its own may\n"
                "follow, as in qemu:///system?socket=/run/libvirt/libvirt-sock."),
    KEY(accel, MEMBER_WORD, .fallback = "kvm", .words = accel_words,
        .help = "kvm, or tcg: software emulation, slow, for development and private intent only."),
    KEY(vcpu, MEMBER_INTEGER, .fallback = "2", .min = 1, .max = 64,
        .help = "Virtual CPUs of a lease that does not ask for another number."),
    KEY(mem_gib, MEMBER_INTEGER, .fallback = "4", .min = 1, .max = 512,
        .help = "Memory of a lease that does not ask for another size, in GiB."),
    KEY(disk_gib, MEMBER_INTEGER, .fallback = "40", .min = 1, .max = 4096,
        .help = "Disk of a lease that does not ask for another size, in GiB."),
    KEY(max_lease_seconds, MEMBER_INTEGER, .fallback = "86400", .min = 0, .max = LEASE_MAX_SECONDS,
        .help = "A lease ends by itself after this many seconds; 0 is never."),
    DERIVED(start_timeout_seconds, "60, or 300 with accel = \"tcg\"", MEMBER_INTEGER, .min = 5, .max = 3600,
            .help = "A guest that is not usable after this many seconds is destroyed and its lease refused."),
    DERIVED(
        warm, "the first of the three that this host has room for", MEMBER_WORD, .words = warm_words,
        .help =
            "How the next guest is kept ready: ram (booted and paused, which takes the memory of one lease\n"
            "more for each berth), disk (booted once and saved) or off (booted when it is asked for)."),
    {.member = {.name = NULL}},
};

const struct config_key *config_key_find(const char *name)
{
    for (const struct config_key *key = config_keys; key->member.name; key++)
        if (strcmp(key->member.name, name) == 0)
            return key;
    return NULL;
}

bool config_intent_from(const char *word, enum config_intent *value)
{
    struct config config;
    bool known = member_parse(&config_key_find("intent")->member, word, &config);
    if (known)
        *value = config.intent;
    return known;
}

/* "\"a\"", "\"a\" or \"b\"", "\"a\", \"b\" or \"c\"". */
static char *quote_words(const char *const *words)
{
    struct text_buffer list = {0};
    for (size_t i = 0; words[i]; i++)
        text_join(&list, words[i + 1] ? ", " : " or ", "\"%s\"", words[i]);
    return list.text;
}

char *config_key_allowed(const struct config_key *key)
{
    return key->member.words ? quote_words(key->member.words) : member_allowed(&key->member);
}

char *config_key_text(const struct config_key *key, const struct config *config)
{
    CLEANUP_JSON json_t *value = member_encode(&key->member, config);
    return json_is_null(value) ? NULL : document_text(value);
}

void config_key_reset(const struct config_key *key, struct config *config)
{
    const struct member *member = &key->member;
    void *slot = (char *)config + member->offset;
    if (member->kind == MEMBER_STRING)
        free(*(char **)slot);
    memset(slot, 0, member->size);
    if (member->fallback)
        member_parse(member, member->fallback, config);
    for (int i = 0; !member->fallback && member->words && member->words[i]; i++)
        member_set_integer(member, i + 1, config);
}

static enum toml_type wanted_type(const struct member *member)
{
    switch (member->kind) {
    case MEMBER_INTEGER:
        return TOML_TYPE_INTEGER;
    case MEMBER_BOOLEAN:
        return TOML_TYPE_BOOLEAN;
    default:
        return TOML_TYPE_STRING;
    }
}

/* The value as a sentence shows it: short, in one line. */
static char *show_value(const struct toml_entry *entry)
{
    enum { SHOWN_MAX = 60 };
    if (entry->type == TOML_TYPE_INTEGER)
        return text_format("%" PRId64, entry->integer);
    size_t length = strnlen(entry->string, SHOWN_MAX);
    while (entry->string[length] && length > 0 && ((unsigned char)entry->string[length] & 0xc0) == 0x80)
        length--;
    char *text = text_format("\"%.*s%s\"", (int)length, entry->string, entry->string[length] ? "..." : "");
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return text;
}

/* A new reference. */
static json_t *encode_entry(const struct toml_entry *entry)
{
    if (entry->type == TOML_TYPE_INTEGER)
        return json_integer(entry->integer);
    return entry->type == TOML_TYPE_BOOLEAN ? json_boolean(entry->boolean) : json_string(entry->string);
}

int config_key_set(const struct config_key *key, const struct toml_entry *entry, const char *path,
                   struct config *config, struct error *err)
{
    bool right_type = entry->type == wanted_type(&key->member);
    CLEANUP_JSON json_t *value = right_type ? encode_entry(entry) : NULL;
    if (member_decode(&key->member, value, config))
        return 0;
    CLEANUP_FREE char *allowed = config_key_allowed(key);
    CLEANUP_FREE char *shown = right_type ? show_value(entry) : text_copy(toml_type_word(entry->type));
    return error_set(err, ERROR_CONFIG, "%s:%u:%u: \"%s\" must be %s, not %s", path, entry->value_place.line,
                     entry->value_place.column, key->member.name, allowed, shown);
}
