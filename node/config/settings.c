#include "config/settings.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"

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

const char *config_class_word(enum config_class value)
{
    return word_of(class_words, value);
}

const char *config_chassis_word(enum config_chassis value)
{
    return word_of(chassis_words, value);
}

const char *config_intent_word(enum config_intent value)
{
    return word_of(intent_words, value);
}

const char *config_guest_os_word(enum config_guest_os value)
{
    return word_of(guest_os_words, value);
}

const char *config_accel_word(enum config_accel value)
{
    return word_of(accel_words, value);
}

const char *config_warm_word(enum config_warm value)
{
    return word_of(warm_words, value);
}

static bool word_index(const char *const *words, const char *word, unsigned *index)
{
    for (unsigned i = 0; words[i]; i++) {
        if (strcmp(words[i], word) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

bool config_intent_from(const char *word, enum config_intent *value)
{
    unsigned index;
    if (!word_index(intent_words, word, &index))
        return false;
    *value = (enum config_intent)index;
    return true;
}

/* Text that may stand in a path, a sentence or a domain's XML without surprise. */
static bool plain(const char *value)
{
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    return true;
}

static bool address_ok(const char *value)
{
    return value[0] && strlen(value) <= 64 && plain(value) && !strchr(value, ' ');
}

/* The grammar of image_stem() in image/, which stands on a higher floor. */
static bool image_name_ok(const char *value)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    size_t name = strspn(value, letters);
    if (name == 0 || name > 64 || value[name] != ':')
        return false;
    const char *version = value + name + 1;
    size_t length = strspn(version, "abcdefghijklmnopqrstuvwxyz0123456789.");
    return length > 0 && length <= 32 && version[length] == '\0';
}

static bool folder_ok(const char *value)
{
    return value[0] == '/' && strlen(value) < 1024 && plain(value);
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

#define MEMBER(member) .offset = offsetof(struct config, member)

static const struct config_key keys[] = {
    {"class", CONFIG_WORD, "vm-guest", .words = class_words, MEMBER(class),
     .comment = "What this machine is. A laptop is never eligible."},
    {"chassis", CONFIG_WORD, "unknown", .words = chassis_words, MEMBER(chassis),
     .comment = "The case this machine is in, as you attest it. Public intent needs server or vm-host, and\n"
                "nothing that is measured may contradict it."},
    {"intent", CONFIG_WORD, "private", .words = intent_words, MEMBER(intent),
     .comment = "Who may come: private (you and whom you pair with) or public (a market). Public asks more\n"
                "of the host; see berth doctor --intent public."},
    {"guest_os", CONFIG_WORD, "linux", .words = guest_os_words, MEMBER(guest_os),
     .comment = "The guest's system. Only linux is leased; the others are understood and fail the doctor."},
    {"bind", CONFIG_STRING, "127.0.0.1", .check = address_ok, .allowed = "an IP address", MEMBER(bind),
     .comment = "Where the node listens: an address of 127.0.0.0/8, or ::1. Anything else fails the doctor."},
    {"port", CONFIG_INTEGER, "7432", .min = 0, .max = 65535, MEMBER(port),
     .comment = "The port it listens on. 0 lets the kernel choose; the node prints what it got."},
    {"egress", CONFIG_WORD, "default-deny", .words = egress_words, MEMBER(egress),
     .comment = "What a guest may reach: nothing. default-allow is understood and fails the doctor."},
    {"always_on", CONFIG_BOOLEAN, "false", MEMBER(always_on),
     .comment = "You attest that this machine stays up. Public intent needs it."},
    {"wired", CONFIG_BOOLEAN, "false", MEMBER(wired),
     .comment = "You attest that this machine is on a cable. Public intent needs it."},
    {"image", CONFIG_STRING, "berthos-linux-desktop:v1", .check = image_name_ok,
     .allowed = "an image name such as \"berthos-linux-desktop:v1\"", MEMBER(image),
     .comment = "The image that guests start from; berth image build makes it."},
    {"state_dir", CONFIG_STRING, NULL,
     .derived = "/var/lib/berthos, or $XDG_STATE_HOME/berthos with qemu:///session", .check = folder_ok,
     .allowed = "an absolute path", MEMBER(state_dir),
     .comment = "What QEMU opens: images/, overlays/, golden/. QEMU's user must be able to enter it, so it\n"
                "cannot lie in this folder."},
    {"image_dir", CONFIG_STRING, NULL, .derived = "STATE_DIR/images", .check = folder_ok,
     .allowed = "an absolute path", MEMBER(image_dir), .comment = "Where the images are."},
    {"image_digest", CONFIG_STRING, NULL, .derived = "not set", .check = digest_valid,
     .allowed = "64 lower-case hex digits", MEMBER(image_digest),
     .comment = "The sha256 of the image's manifest, as berth image build prints it. Where it is set, no\n"
                "other image will do. Public intent needs it."},
    {"berths", CONFIG_INTEGER, "1", .min = 1, .max = 64, MEMBER(berths),
     .comment = "How many leases at once. The host must hold them all, of the shape below."},
    {"vcpu_overcommit", CONFIG_INTEGER, "1", .min = 1, .max = 16, MEMBER(vcpu_overcommit),
     .comment = "How often a host CPU may be promised. Above 1 only with accel = \"tcg\"."},
    {"libvirt_uri", CONFIG_STRING, "qemu:///system", .check = uri_ok,
     .allowed =
         "\"qemu:///system\" or \"qemu:///session\", either with ?socket=/PATH (the hypervisor must be on "
         "this host)",
     MEMBER(libvirt_uri),
     .comment = "The hypervisor of this host: qemu:///system or qemu:///session. A socket of its own may\n"
                "follow, as in qemu:///system?socket=/run/libvirt/libvirt-sock."},
    {"accel", CONFIG_WORD, "kvm", .words = accel_words, MEMBER(accel),
     .comment = "kvm, or tcg: software emulation, slow, for development and private intent only."},
    {"vcpu", CONFIG_INTEGER, "2", .min = 1, .max = 64, MEMBER(vcpu),
     .comment = "Virtual CPUs of a lease that does not ask for another number."},
    {"mem_gib", CONFIG_INTEGER, "4", .min = 1, .max = 512, MEMBER(mem_gib),
     .comment = "Memory of a lease that does not ask for another size, in GiB."},
    {"disk_gib", CONFIG_INTEGER, "40", .min = 1, .max = 4096, MEMBER(disk_gib),
     .comment = "Disk of a lease that does not ask for another size, in GiB."},
    {"max_lease_seconds", CONFIG_INTEGER, "86400", .min = 0, .max = 31536000, MEMBER(max_lease_seconds),
     .comment = "A lease ends by itself after this many seconds; 0 is never."},
    {"start_timeout_seconds", CONFIG_INTEGER, NULL, .derived = "60, or 300 with accel = \"tcg\"", .min = 5,
     .max = 3600, MEMBER(start_timeout_seconds),
     .comment = "A guest that is not usable after this many seconds is destroyed and its lease refused."},
    {"warm", CONFIG_WORD, NULL, .derived = "the first of the three that this host has room for",
     .words = warm_words, MEMBER(warm),
     .comment =
         "How the next guest is kept ready: ram (booted and paused, which takes the memory of one lease\n"
         "more for each berth), disk (booted once and saved) or off (booted when it is asked for)."},
};

const struct config_key *config_keys(size_t *count)
{
    *count = sizeof keys / sizeof keys[0];
    return keys;
}

const struct config_key *config_key_find(const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

/* "\"a\"", "\"a\" or \"b\"", "\"a\", \"b\" or \"c\"". */
static char *word_list(const char *const *words)
{
    char *list = text_copy("");
    for (size_t i = 0; words[i]; i++) {
        CLEANUP_FREE char *before = list;
        list = text_format("%s%s\"%s\"", before, i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    }
    return list;
}

char *config_key_allowed(const struct config_key *key)
{
    switch (key->type) {
    case CONFIG_WORD:
        return word_list(key->words);
    case CONFIG_INTEGER:
        return text_format("a whole number from %" PRId64 " to %" PRId64, key->min, key->max);
    case CONFIG_BOOLEAN:
        return text_copy("true or false");
    case CONFIG_STRING:
        break;
    }
    return text_copy(key->allowed);
}

static unsigned word_count(const char *const *words)
{
    unsigned count = 0;
    while (words[count])
        count++;
    return count;
}

/* In quotes; no value of ours has control characters. */
static char *quoted(const char *value)
{
    char *text = malloc(2 * strlen(value) + 3), *to = text;
    if (!text)
        abort();
    *to++ = '"';
    for (const char *c = value; *c; c++) {
        if (*c == '"' || *c == '\\')
            *to++ = '\\';
        *to++ = *c;
    }
    memcpy(to, "\"", 2);
    return text;
}

char *config_key_text(const struct config_key *key, const struct config *config)
{
    const void *member = (const char *)config + key->offset;
    unsigned index;
    const char *string;
    switch (key->type) {
    case CONFIG_WORD:
        memcpy(&index, member, sizeof index);
        return !key->fallback && index == word_count(key->words) ? NULL : quoted(word_of(key->words, index));
    case CONFIG_INTEGER:
        return text_format("%" PRId64, *(const int64_t *)member);
    case CONFIG_BOOLEAN:
        return text_copy(*(const bool *)member ? "true" : "false");
    case CONFIG_STRING:
        break;
    }
    string = *(char *const *)member;
    return string ? quoted(string) : NULL;
}

/* Enums of config.h are stored through memcpy: each is an unsigned int here, whatever its name. */
static_assert(sizeof(enum config_class) == sizeof(unsigned), "enums are stored as unsigned");

static void put_word(void *member, unsigned index)
{
    memcpy(member, &index, sizeof index);
}

void config_key_reset(const struct config_key *key, struct config *config)
{
    void *member = (char *)config + key->offset;
    unsigned index = 0;
    int64_t number = 0;
    switch (key->type) {
    case CONFIG_WORD:
        if (key->fallback)
            word_index(key->words, key->fallback, &index);
        else
            index = word_count(key->words);
        put_word(member, index);
        break;
    case CONFIG_INTEGER:
        if (key->fallback)
            text_to_integer(key->fallback, key->min, key->max, &number);
        *(int64_t *)member = number;
        break;
    case CONFIG_BOOLEAN:
        *(bool *)member = strcmp(key->fallback, "true") == 0;
        break;
    case CONFIG_STRING:
        free(*(char **)member);
        *(char **)member = text_copy(key->fallback);
        break;
    }
}

/* The value as a sentence shows it: short, in one line. */
static char *shown(const struct toml_entry *entry)
{
    enum { SHOWN_MAX = 60 };
    if (entry->type == TOML_TYPE_INTEGER)
        return text_format("%" PRId64, entry->integer);
    if (entry->type == TOML_TYPE_BOOLEAN)
        return text_copy(entry->boolean ? "true" : "false");
    if (entry->type != TOML_TYPE_STRING)
        return text_copy(toml_type_word(entry->type));
    size_t length = strnlen(entry->string, SHOWN_MAX);
    while (entry->string[length] && length > 0 && ((unsigned char)entry->string[length] & 0xc0) == 0x80)
        length--;
    char *text = text_format("\"%.*s%s\"", (int)length, entry->string, entry->string[length] ? "..." : "");
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return text;
}

static int refuse(const struct config_key *key, const struct toml_entry *entry, const char *path,
                  bool wrong_type, struct error *err)
{
    CLEANUP_FREE char *allowed = config_key_allowed(key);
    CLEANUP_FREE char *value = wrong_type ? text_copy(toml_type_word(entry->type)) : shown(entry);
    return error_set(err, ERROR_CONFIG, "%s:%u:%u: \"%s\" must be %s, not %s", path, entry->value_place.line,
                     entry->value_place.column, key->name, allowed, value);
}

int config_key_set(const struct config_key *key, const struct toml_entry *entry, const char *path,
                   struct config *config, struct error *err)
{
    static const enum toml_type wanted[] = {
        [CONFIG_WORD] = TOML_TYPE_STRING,
        [CONFIG_STRING] = TOML_TYPE_STRING,
        [CONFIG_INTEGER] = TOML_TYPE_INTEGER,
        [CONFIG_BOOLEAN] = TOML_TYPE_BOOLEAN,
    };
    void *member = (char *)config + key->offset;
    unsigned index;
    if (entry->type != wanted[key->type])
        return refuse(key, entry, path, true, err);
    switch (key->type) {
    case CONFIG_WORD:
        if (!word_index(key->words, entry->string, &index))
            return refuse(key, entry, path, false, err);
        put_word(member, index);
        return 0;
    case CONFIG_INTEGER:
        if (entry->integer < key->min || entry->integer > key->max)
            return refuse(key, entry, path, false, err);
        *(int64_t *)member = entry->integer;
        return 0;
    case CONFIG_BOOLEAN:
        *(bool *)member = entry->boolean;
        return 0;
    case CONFIG_STRING:
        if (key->check && !key->check(entry->string))
            return refuse(key, entry, path, false, err);
        free(*(char **)member);
        *(char **)member = text_copy(entry->string);
        return 0;
    }
    return 0;
}
