/*
 * What a lease's domain has, and nothing else: each device here is one that the guest needs, and inspect.c
 * lists the same ones. Changes go into both, and the platform tests show what libvirt makes of them.
 */
#include "guest/domain_xml.h"

#include <inttypes.h>
#include <libxml/tree.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "guest/metadata.h"
#include "guest/xml.h"

/* Adds an element with attributes (name, value, ..., NULL) and, unless it is NULL, a text. */
static xmlNode *add_element(xmlNode *parent, const char *name, const char *text, ...)
    __attribute__((sentinel));

static xmlNode *add_element(xmlNode *parent, const char *name, const char *text, ...)
{
    xmlNode *node = xmlNewTextChild(parent, NULL, (const xmlChar *)name, (const xmlChar *)text);
    va_list args;
    va_start(args, text);
    for (const char *key = va_arg(args, const char *); key; key = va_arg(args, const char *))
        xmlNewProp(node, (const xmlChar *)key, (const xmlChar *)va_arg(args, const char *));
    va_end(args);
    return node;
}

static void add_number(xmlNode *parent, const char *name, int64_t value, const char *unit)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    xmlNode *node = add_element(parent, name, text, NULL);
    if (unit)
        xmlNewProp(node, (const xmlChar *)"unit", (const xmlChar *)unit);
}

static void add_metadata(xmlNode *domain, const struct guest_spec *spec)
{
    xmlNode *metadata = add_element(domain, "metadata", NULL, NULL);
    xmlNode *ours =
        add_element(metadata, "guest", NULL, "node", spec->node_id, "lease", spec->lease_id, NULL);
    xmlSetNs(ours, xmlNewNs(ours, (const xmlChar *)GUEST_METADATA_NAMESPACE, (const xmlChar *)"berthos"));
}

/*
 * Shares and quotas need the cgroup controllers that only the system daemon has. No hard_limit: it refuses to
 * start without CAP_SYS_RESOURCE and kills guests that QEMU's own overhead pushes over it.
 */
static void add_limits(xmlNode *domain, const struct guest_spec *spec)
{
    xmlNode *memtune = add_element(domain, "memtune", NULL, NULL);
    add_number(memtune, "soft_limit", GUEST_SOFT_LIMIT_KIB(spec), "KiB");
    xmlNode *cputune = add_element(domain, "cputune", NULL, NULL);
    add_number(cputune, "shares", GUEST_CPU_SHARES(spec), NULL);
    add_number(cputune, "emulator_period", 100000, NULL);
    add_number(cputune, "emulator_quota", 200000, NULL);
}

static void add_boot(xmlNode *domain, const struct guest_spec *spec)
{
    xmlNode *os = add_element(domain, "os", NULL, NULL);
    add_element(os, "type", "hvm", "arch", "x86_64", "machine", spec->machine, NULL);
    add_element(os, "kernel", spec->kernel, NULL);
    add_element(os, "initrd", spec->initrd, NULL);
    add_element(os, "cmdline", spec->cmdline, NULL);
    xmlNode *features = add_element(domain, "features", NULL, NULL);
    add_element(features, "acpi", NULL, NULL);
    add_element(features, "apic", NULL, NULL);
    add_element(domain, "cpu", NULL, "mode", spec->kvm ? "host-passthrough" : "maximum", NULL);
    add_element(domain, "clock", NULL, "offset", "utc", NULL);
    add_element(domain, "on_poweroff", "destroy", NULL);
    add_element(domain, "on_reboot", "destroy", NULL);
    add_element(domain, "on_crash", "destroy", NULL);
}

/* What a disk's own file lies on, spelled out with its formats, so that QEMU probes nothing; it ends at the
 * base. */
static void add_chain(xmlNode *disk, const struct guest_spec *spec)
{
    const char *const files[] = {spec->golden, spec->base};
    xmlNode *parent = disk;
    for (size_t i = spec->golden ? 0 : 1; i < sizeof files / sizeof files[0]; i++) {
        parent = add_element(parent, "backingStore", NULL, "type", "file", NULL);
        add_element(parent, "format", NULL, "type", "qcow2", NULL);
        add_element(parent, "source", NULL, "file", files[i], NULL);
    }
    add_element(parent, "backingStore", NULL, NULL);
}

/*
 * The overlay dies with the lease, so nothing is ever flushed for it (cache=unsafe); a host that loses power
 * loses the lease in any case.
 */
static void add_disk(xmlNode *devices, const struct guest_spec *spec)
{
    xmlNode *disk = add_element(devices, "disk", NULL, "type", "file", "device", "disk", NULL);
    add_element(disk, "driver", NULL, "name", "qemu", "type", "qcow2", "cache", "unsafe", "discard", "unmap",
                "detect_zeroes", "unmap", NULL);
    add_element(disk, "source", NULL, "file", spec->overlay, NULL);
    add_chain(disk, spec);
    add_element(disk, "target", NULL, "dev", "vda", "bus", "virtio", NULL);
    xmlNode *iotune = add_element(disk, "iotune", NULL, NULL);
    add_number(iotune, "total_bytes_sec", 1073741824, NULL);
    add_number(iotune, "total_iops_sec", 50000, NULL);
}

static void add_devices(xmlNode *domain, const struct guest_spec *spec)
{
    char width[12], height[12];
    snprintf(width, sizeof width, "%" PRIu32, spec->width);
    snprintf(height, sizeof height, "%" PRIu32, spec->height);

    xmlNode *devices = add_element(domain, "devices", NULL, NULL);
    add_element(devices, "emulator", spec->emulator, NULL);
    if (spec->overlay)
        add_disk(devices, spec);
    add_element(devices, "controller", NULL, "type", "usb", "model", "none", NULL);
    if (spec->console_log) {
        xmlNode *serial = add_element(devices, "serial", NULL, "type", "file", NULL);
        add_element(serial, "source", NULL, "path", spec->console_log, "append", "off", NULL);
        add_element(serial, "target", NULL, "type", "isa-serial", "port", "0", NULL);
    }
    xmlNode *channel = add_element(devices, "channel", NULL, "type", "unix", NULL);
    add_element(channel, "target", NULL, "type", "virtio", "name", "org.qemu.guest_agent.0", NULL);
    add_element(devices, "input", NULL, "type", "keyboard", "bus", "virtio", NULL);
    add_element(devices, "input", NULL, "type", "tablet", "bus", "virtio", NULL);
    xmlNode *graphics = add_element(devices, "graphics", NULL, "type", "vnc", NULL);
    add_element(graphics, "listen", NULL, "type", "none", NULL);
    xmlNode *video = add_element(devices, "video", NULL, NULL);
    xmlNode *model =
        add_element(video, "model", NULL, "type", "virtio", "heads", "1", "primary", "yes", NULL);
    add_element(model, "resolution", NULL, "x", width, "y", height, NULL);
    add_element(devices, "memballoon", NULL, "model", "none", NULL);
    xmlNode *rng = add_element(devices, "rng", NULL, "model", "virtio", NULL);
    add_element(rng, "backend", "/dev/urandom", "model", "random", NULL);
    add_element(devices, "panic", NULL, "model", "isa", NULL);
}

static char *print_document(xmlDoc *doc)
{
    xmlChar *text;
    int size;
    xmlDocDumpFormatMemory(doc, &text, &size, 1);
    char *copy = text_copy((const char *)text);
    xmlFree(text);
    return copy;
}

char *domain_xml_render(const struct guest_spec *spec)
{
    CLEANUP_XML xmlDoc *doc = xmlNewDoc((const xmlChar *)"1.0");
    xmlNode *domain = xmlNewNode(NULL, (const xmlChar *)"domain");
    xmlDocSetRootElement(doc, domain);
    xmlNewProp(domain, (const xmlChar *)"type", (const xmlChar *)(spec->kvm ? "kvm" : "qemu"));
    add_element(domain, "name", spec->name, NULL);
    add_element(domain, "uuid", spec->uuid, NULL);
    add_element(domain, "genid", NULL, NULL);
    add_metadata(domain, spec);
    add_number(domain, "memory", spec->mem_mib * 1024, "KiB");
    add_number(domain, "vcpu", spec->vcpu, NULL);
    if (spec->system)
        add_limits(domain, spec);
    add_boot(domain, spec);
    add_devices(domain, spec);
    /*
     * QEMU's user, and no relabelling: base, kernel and initrd stay root's, or a QEMU taken over by its guest
     * could rewrite them for every later tenant. The overlay is reachable by its group (image/overlay.h).
     */
    if (spec->qemu_label) {
        xmlNode *label =
            add_element(domain, "seclabel", NULL, "type", "static", "model", "dac", "relabel", "no", NULL);
        add_element(label, "label", spec->qemu_label, NULL);
    }
    return print_document(doc);
}

/* --- a saved domain -------------------------------------------------------------------------------- */

static bool is_element(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

static void remove_children(xmlNode *parent, const char *name)
{
    for (xmlNode *node = parent->children, *next; node; node = next) {
        next = node->next;
        if (!is_element(node, name))
            continue;
        xmlUnlinkNode(node);
        xmlFreeNode(node);
    }
}

/* Sets an attribute of each <source> in the element. */
static void set_source(xmlNode *parent, const char *key, const char *value)
{
    for (xmlNode *node = parent->children; node; node = node->next)
        if (is_element(node, "source"))
            xmlSetProp(node, (const xmlChar *)key, (const xmlChar *)value);
}

static void edit_devices(xmlNode *devices, const struct guest_spec *spec)
{
    for (xmlNode *node = devices->children; node; node = node->next) {
        if (spec->overlay && is_element(node, "disk")) {
            set_source(node, "file", spec->overlay);
            remove_children(node, "backingStore");
            add_chain(node, spec);
        } else if (spec->console_log && (is_element(node, "serial") || is_element(node, "console"))) {
            set_source(node, "path", spec->console_log);
        }
    }
}

char *domain_xml_edit(const char *saved, const struct guest_spec *spec, struct error *err)
{
    CLEANUP_XML xmlDoc *doc = guest_xml_parse(saved, "the saved guest's XML", err);
    if (!doc)
        return NULL;
    xmlNode *domain = xmlDocGetRootElement(doc);
    remove_children(domain, "metadata");
    add_metadata(domain, spec);
    for (xmlNode *node = domain->children, *next; node; node = next) {
        next = node->next;
        xmlChar *model = is_element(node, "seclabel") ? xmlGetNoNsProp(node, (const xmlChar *)"model") : NULL;
        if (is_element(node, "devices")) {
            edit_devices(node, spec);
        } else if (model && spec->qemu_label && strcmp((const char *)model, "dac") == 0) {
            remove_children(node, "label");
            add_element(node, "label", spec->qemu_label, NULL);
        }
        xmlFree(model);
    }
    return print_document(doc);
}
