/*
 * Theory of operation: a table lists every element that a lease's domain may have. Each row gives the path
 * below <domain>, how many there must be, its attributes and its text. The walk visits every element of the
 * document; one that no row allows, an attribute that its row does not list, a value that differs, a count
 * that is off: each is a difference, and the first one is reported. A deny-list would not do: libvirt starts
 * <serial type='tcp'> happily.
 *
 * Attributes of a row: "name=value", separated by spaces; "name?=value" may be missing. A value is a pattern
 * of fnmatch(3), alternatives are separated by "|", and "@field" stands for what the spec asks for. Several
 * rows may share a path: the first whose attributes fit counts.
 */
#include "guest/inspect.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "guest/metadata.h"
#include "guest/xml.h"

/* How often a row must be met. */
enum count_rule {
    ONE,     /* exactly once */
    MAYBE,   /* at most once: libvirt adds it */
    MANY,    /* any number: harmless by nature */
    DISK,    /* once with an overlay, else never */
    PLAIN,   /* once where the overlay lies on the base itself, else never */
    GOLDEN,  /* once where a golden disk lies between overlay and base, else never */
    CONSOLE, /* once with a console log, else never */
    LIMITS,  /* once under the system daemon, else never */
    LABEL,   /* once where the spec has a DAC label, else never */
};

struct rule {
    const char *path;
    enum count_rule count;
    const char *attributes;
    const char *text; /* pattern; NULL: none allowed */
};

static const struct rule rules[] = {
    {"name", ONE, "", "@name"},
    {"uuid", ONE, "", "@uuid"},
    {"genid", ONE, "", "*"},
    {"metadata", ONE, "", NULL},
    {"metadata/guest", ONE, "node=@node lease=@lease", NULL},
    {"memory", ONE, "unit=KiB", "@memory"},
    {"currentMemory", MAYBE, "unit=KiB", "@memory"},
    {"memtune", LIMITS, "", NULL},
    {"memtune/soft_limit", LIMITS, "unit=KiB", "@soft_limit"},
    {"vcpu", ONE, "placement?=static", "@vcpu"},
    {"cputune", LIMITS, "", NULL},
    {"cputune/shares", LIMITS, "", "@shares"},
    {"cputune/emulator_period", LIMITS, "", "100000"},
    {"cputune/emulator_quota", LIMITS, "", "200000"},
    {"resource", MAYBE, "", NULL},
    {"resource/partition", MAYBE, "", "/machine*"},
    {"os", ONE, "", NULL},
    {"os/type", ONE, "arch=x86_64 machine=@machine", "hvm"},
    {"os/kernel", ONE, "", "@kernel"},
    {"os/initrd", ONE, "", "@initrd"},
    {"os/cmdline", ONE, "", "@cmdline"},
    {"os/boot", MAYBE, "dev=hd", NULL},
    {"features", ONE, "", NULL},
    {"features/acpi", ONE, "", NULL},
    {"features/apic", ONE, "", NULL},
    {"cpu", ONE, "mode=@cpu check?=none migratable?=on|off", NULL},
    {"clock", ONE, "offset=utc", NULL},
    {"on_poweroff", ONE, "", "destroy"},
    {"on_reboot", ONE, "", "destroy"},
    {"on_crash", ONE, "", "destroy"},
    {"devices", ONE, "", NULL},
    {"devices/emulator", ONE, "", "@emulator"},
    {"devices/disk", DISK, "type=file device=disk", NULL},
    {"devices/disk/driver", DISK,
     "name=qemu type=qcow2 cache=unsafe discard=unmap detect_zeroes=unmap discard_no_unref?=off", NULL},
    {"devices/disk/source", DISK, "file=@overlay index?=[0-9]*", NULL},
    {"devices/disk/backingStore", DISK, "type=file index?=[0-9]*", NULL},
    {"devices/disk/backingStore/format", DISK, "type=qcow2", NULL},
    {"devices/disk/backingStore/source", PLAIN, "file=@base index?=[0-9]*", NULL},
    {"devices/disk/backingStore/backingStore", PLAIN, "", NULL},
    {"devices/disk/backingStore/source", GOLDEN, "file=@golden index?=[0-9]*", NULL},
    {"devices/disk/backingStore/backingStore", GOLDEN, "type=file index?=[0-9]*", NULL},
    {"devices/disk/backingStore/backingStore/format", GOLDEN, "type=qcow2", NULL},
    {"devices/disk/backingStore/backingStore/source", GOLDEN, "file=@base index?=[0-9]*", NULL},
    {"devices/disk/backingStore/backingStore/backingStore", GOLDEN, "", NULL},
    {"devices/disk/target", DISK, "dev=vda bus=virtio", NULL},
    {"devices/disk/iotune", DISK, "", NULL},
    {"devices/disk/iotune/total_bytes_sec", DISK, "", "1073741824"},
    {"devices/disk/iotune/total_iops_sec", DISK, "", "50000"},
    {"devices/controller", ONE, "type=usb model=none index?=0", NULL},
    {"devices/controller", MAYBE, "type=sata index=0", NULL},
    {"devices/controller", MAYBE, "type=virtio-serial index=0 ports?=[0-9]* vectors?=[0-9]*", NULL},
    {"devices/controller", MAYBE, "type=pci index=0 model=pcie-root", NULL},
    {"devices/controller", MANY, "type=pci index=[0-9]* model=pcie-root-port", NULL},
    {"devices/controller/model", MANY, "name=pcie-root-port", NULL},
    {"devices/controller/target", MANY, "chassis=[0-9]* port=0x*", NULL},
    {"devices/serial", CONSOLE, "type=file", NULL},
    {"devices/serial/source", CONSOLE, "path=@console append=off", NULL},
    {"devices/serial/target", CONSOLE, "type=isa-serial port=0", NULL},
    {"devices/serial/target/model", MAYBE, "name=isa-serial", NULL},
    {"devices/console", MAYBE, "type=file", NULL},
    {"devices/console/source", MAYBE, "path=@console append=off", NULL},
    {"devices/console/target", MAYBE, "type=serial port=0", NULL},
    {"devices/channel", ONE, "type=unix", NULL},
    {"devices/channel/source", MAYBE, "mode=bind path=*/org.qemu.guest_agent.0", NULL},
    {"devices/channel/target", ONE, "type=virtio name=org.qemu.guest_agent.0 state?=connected|disconnected",
     NULL},
    {"devices/input", ONE, "type=keyboard bus=virtio", NULL},
    {"devices/input", ONE, "type=tablet bus=virtio", NULL},
    {"devices/input", MAYBE, "type=mouse bus=ps2", NULL},
    {"devices/input", MAYBE, "type=keyboard bus=ps2", NULL},
    {"devices/graphics", ONE, "type=vnc", NULL},
    {"devices/graphics/listen", ONE, "type=none", NULL},
    {"devices/audio", MAYBE, "id=1 type=none", NULL},
    {"devices/video", ONE, "", NULL},
    {"devices/video/model", ONE, "type=virtio heads=1 primary=yes", NULL},
    {"devices/video/model/resolution", ONE, "x=@width y=@height", NULL},
    {"devices/watchdog", MAYBE, "model=itco action=reset", NULL},
    {"devices/memballoon", ONE, "model=none", NULL},
    {"devices/rng", ONE, "model=virtio", NULL},
    {"devices/rng/backend", ONE, "model=random", "/dev/urandom"},
    {"devices/panic", ONE, "model=isa", NULL},
    {"devices/*/alias", MANY, "name=*", NULL},
    {"devices/*/address", MANY, "type=pci domain=0x0000 bus=0x?? slot=0x?? function=0x? multifunction?=on",
     NULL},
    {"devices/*/address", MANY, "type=virtio-serial controller=0 bus=0 port=[0-9]*", NULL},
    {"devices/panic/address", MAYBE, "type=isa iobase=0x505", NULL},
    {"seclabel", LABEL, "type=static model=dac relabel=no", NULL},
    {"seclabel", MAYBE, "type=dynamic model=apparmor|selinux relabel=yes", NULL},
    {"seclabel/label", MANY, "", "@label|libvirt-*|system_u:*"},
    {"seclabel/imagelabel", MANY, "", "*"},
};

enum { RULES = sizeof rules / sizeof *rules };

struct inspection {
    const struct guest_spec *spec;
    int met[RULES];
    struct error *err;
};

/* What the spec asks for under a name of the table. *text is used for numbers. NULL: the name is not known.
 */
static const char *find_wanted(const struct guest_spec *spec, const char *name, char text[24])
{
    const struct {
        const char *name;
        const char *value;
    } strings[] = {
        {"name", spec->name},
        {"uuid", spec->uuid},
        {"node", spec->node_id},
        {"lease", spec->lease_id},
        {"machine", spec->machine},
        {"kernel", spec->kernel},
        {"initrd", spec->initrd},
        {"cmdline", spec->cmdline},
        {"emulator", spec->emulator},
        {"overlay", spec->overlay},
        {"base", spec->base},
        {"golden", spec->golden},
        {"console", spec->console_log},
        {"label", spec->qemu_label},
        {"cpu", spec->kvm ? "host-passthrough" : "maximum"},
    };
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"memory", spec->mem_mib * 1024},
        {"soft_limit", GUEST_SOFT_LIMIT_KIB(spec)},
        {"vcpu", spec->vcpu},
        {"shares", GUEST_CPU_SHARES(spec)},
        {"width", spec->width},
        {"height", spec->height},
    };
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        if (strcmp(strings[i].name, name) == 0)
            return strings[i].value;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(numbers[i].name, name) == 0) {
            snprintf(text, 24, "%" PRId64, numbers[i].value);
            return text;
        }
    }
    return NULL;
}

/* Whether a value fits one of the alternatives of a pattern of `length` characters. */
static bool fits_pattern(const struct guest_spec *spec, const char *pattern, size_t length, const char *value)
{
    for (const char *end = pattern + length; pattern <= end;) {
        const char *bar = memchr(pattern, '|', (size_t)(end - pattern));
        size_t size = (size_t)((bar ? bar : end) - pattern);
        char one[128], number[24];
        snprintf(one, sizeof one, "%.*s", (int)size, pattern);
        const char *wanted = one[0] == '@' ? find_wanted(spec, one + 1, number) : NULL;
        if (one[0] == '@' ? wanted && strcmp(wanted, value) == 0 : fnmatch(one, value, 0) == 0)
            return true;
        pattern += size + 1;
    }
    return false;
}

/* Whether the element's attributes are exactly those of the rule. */
static bool attributes_fit(const struct guest_spec *spec, const struct rule *rule, xmlNode *node)
{
    size_t matched = 0, present = 0;
    for (const char *at = rule->attributes; *at;) {
        size_t length = strcspn(at, " ");
        size_t equals = strcspn(at, "=");
        bool optional = at[equals - 1] == '?';
        CLEANUP_FREE char *name = text_format("%.*s", (int)(equals - optional), at);
        xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)name);
        bool fit =
            value ? fits_pattern(spec, at + equals + 1, length - equals - 1, (const char *)value) : optional;
        matched += value != NULL;
        xmlFree(value);
        if (!fit)
            return false;
        at += length + (at[length] == ' ');
    }
    for (xmlAttr *attribute = node->properties; attribute; attribute = attribute->next)
        present++;
    return present == matched;
}

/* The element's own text, without what its children hold. *Owned*. */
static char *copy_own_text(xmlNode *node)
{
    struct text_buffer text = {0};
    for (xmlNode *child = node->children; child; child = child->next) {
        bool is_text = child->type == XML_TEXT_NODE || child->type == XML_CDATA_SECTION_NODE;
        if (is_text && !xmlIsBlankNode(child))
            text_append(&text, "%s", (const char *)child->content);
    }
    return text.text ? text.text : text_copy("");
}

static int report_difference(struct inspection *inspection, const char *path, const char *how)
{
    return error_set(inspection->err, ERROR_GUEST_FAILED,
                     "the domain that libvirt started is not the one that was asked for: <%s> %s", path, how);
}

static int check_element(struct inspection *inspection, xmlNode *node, const char *path)
{
    bool known = false;
    bool ours = strcmp(path, "metadata/guest") == 0;
    if (ours ? !node->ns || strcmp((const char *)node->ns->href, GUEST_METADATA_NAMESPACE) != 0
             : node->ns != NULL)
        return report_difference(inspection, path, "is in a namespace that has no place here");
    for (size_t i = 0; i < RULES; i++) {
        if (fnmatch(rules[i].path, path, FNM_PATHNAME) != 0)
            continue;
        known = true;
        if (!attributes_fit(inspection->spec, &rules[i], node))
            continue;
        CLEANUP_FREE char *text = copy_own_text(node);
        if (rules[i].text ? !fits_pattern(inspection->spec, rules[i].text, strlen(rules[i].text), text)
                          : text[0] != '\0')
            return report_difference(inspection, path, "holds another value");
        inspection->met[i]++;
        return 0;
    }
    return report_difference(inspection, path,
                             known ? "has other attributes" : "has no place in a lease's guest");
}

static int walk_children(struct inspection *inspection, xmlNode *parent, const char *parent_path)
{
    for (xmlNode *node = parent->children; node; node = node->next) {
        if (node->type == XML_TEXT_NODE || node->type == XML_COMMENT_NODE ||
            node->type == XML_CDATA_SECTION_NODE)
            continue;
        if (node->type != XML_ELEMENT_NODE)
            return report_difference(inspection, parent_path,
                                     "holds something that is neither element nor text");
        CLEANUP_FREE char *path =
            text_format("%s%s%s", parent_path, parent_path[0] ? "/" : "", (const char *)node->name);
        if (check_element(inspection, node, path) < 0 || walk_children(inspection, node, path) < 0)
            return -1;
    }
    return 0;
}

/* Whether a row must be met, which is then exactly once. */
static bool is_wanted(enum count_rule count, const struct guest_spec *spec)
{
    switch (count) {
    case ONE:
        return true;
    case DISK:
        return spec->overlay;
    case PLAIN:
        return spec->overlay && !spec->golden;
    case GOLDEN:
        return spec->overlay && spec->golden;
    case CONSOLE:
        return spec->console_log;
    case LIMITS:
        return spec->system;
    case LABEL:
        return spec->qemu_label;
    case MAYBE:
    case MANY:
        break;
    }
    return false;
}

static int check_counts(struct inspection *inspection)
{
    const struct guest_spec *spec = inspection->spec;
    for (size_t i = 0; i < RULES; i++) {
        int met = inspection->met[i];
        bool wanted = is_wanted(rules[i].count, spec);
        if (wanted && met == 0)
            return report_difference(inspection, rules[i].path, "is missing");
        int most = rules[i].count == MANY ? INT32_MAX : wanted || rules[i].count == MAYBE ? 1 : 0;
        if (met > most)
            return report_difference(inspection, rules[i].path, "is there more often than it may be");
    }
    return 0;
}

int domain_inspect(const char *xml, const struct guest_spec *spec, struct error *err)
{
    CLEANUP_XML xmlDoc *doc = guest_xml_parse(xml, "the started guest's XML", err);
    if (!doc)
        return -1;
    struct inspection inspection = {.spec = spec, .err = err};
    xmlNode *root = xmlDocGetRootElement(doc);
    static const struct rule kvm = {"", ONE, "type=kvm id?=[0-9]*", NULL},
                             tcg = {"", ONE, "type=qemu id?=[0-9]*", NULL};
    if (strcmp((const char *)root->name, "domain") != 0 || root->ns ||
        !attributes_fit(spec, spec->kvm ? &kvm : &tcg, root))
        return report_difference(&inspection, "domain", "has other attributes");
    if (walk_children(&inspection, root, "") < 0)
        return -1;
    return check_counts(&inspection);
}
