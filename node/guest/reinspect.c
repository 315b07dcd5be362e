#include "guest/reinspect.h"

#include <libvirt/virterror.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "guest/call.h"
#include "guest/inspect.h"
#include "guest/libvirt_error.h"
#include "guest/xml.h"

struct adopt_state {
    char *xml; /* out */
    int run;   /* out */
};

static void clear_adopt(void *state)
{
    struct adopt_state *adopt = state;
    free(adopt->xml);
}

static int read_xml(virDomainPtr domain, void *state, struct error *err)
{
    struct adopt_state *adopt = state;
    adopt->run = (int)virDomainGetID(domain);
    adopt->xml = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_SECURE);
    return adopt->xml ? 0 : libvirt_error(ERROR_HYPERVISOR, err, "cannot read the guest's XML");
}

/* What an image and a hypervisor decided when the domain was made; all strings but one are owned. */
struct found {
    char *emulator, *machine, *qemu_label, *kernel, *initrd, *cmdline, *base, *golden, *width, *height;
};

static void clear_found(struct found *found)
{
    char **strings[] = {&found->emulator, &found->machine, &found->qemu_label, &found->kernel,
                        &found->initrd,   &found->cmdline, &found->base,       &found->golden,
                        &found->width,    &found->height};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        free(TAKE(*strings[i]));
}

/* A file directly in the folder. */
static bool lies_in(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return path && strncmp(path, folder, length) == 0 && path[length] == '/' && path[length + 1] != '.' &&
           !strchr(path + length + 1, '/');
}

/* The files that the overlay lies on: the base, and a golden disk before it where there is one. How deep the
 * chain is beyond that domain_inspect() sees. */
static void read_chain(xmlDoc *doc, struct found *found)
{
#define BACKING "/domain/devices/disk/backingStore"
    bool golden = guest_xml_has(doc, BACKING "/backingStore/source");
    found->golden = golden ? guest_xml_string(doc, "string(" BACKING "/source/@file)") : NULL;
    found->base = golden ? guest_xml_string(doc, "string(" BACKING "/backingStore/source/@file)")
                         : guest_xml_string(doc, "string(" BACKING "/source/@file)");
#undef BACKING
}

static int read_found(const char *xml, const char *image_dir, const char *golden_dir, struct found *found,
                      struct error *err)
{
    CLEANUP_XML xmlDoc *doc = guest_xml_parse(xml, "the guest's XML", err);
    if (!doc)
        return -1;
    found->emulator = guest_xml_string(doc, "string(/domain/devices/emulator)");
    found->machine = guest_xml_string(doc, "string(/domain/os/type/@machine)");
    found->qemu_label = guest_xml_string(doc, "string(/domain/seclabel[@model='dac']/label)");
    found->kernel = guest_xml_string(doc, "string(/domain/os/kernel)");
    found->initrd = guest_xml_string(doc, "string(/domain/os/initrd)");
    found->cmdline = guest_xml_string(doc, "string(/domain/os/cmdline)");
    read_chain(doc, found);
    found->width = guest_xml_string(doc, "string(/domain/devices/video/model/resolution/@x)");
    found->height = guest_xml_string(doc, "string(/domain/devices/video/model/resolution/@y)");
    if (!lies_in(found->kernel, image_dir) || !lies_in(found->initrd, image_dir) ||
        !lies_in(found->base, image_dir))
        return error_set(err, ERROR_GUEST_FAILED, "the guest was not started from an image in %s", image_dir);
    if (found->golden && !lies_in(found->golden, golden_dir))
        return error_set(err, ERROR_GUEST_FAILED, "the guest's disk does not lie on a golden state in %s",
                         golden_dir);
    return 0;
}

int guest_reinspect(struct guest *guest, const struct guest_spec *known, const char *image_dir,
                    const char *golden_dir, int64_t timeout_ms, struct error *err)
{
    CLEANUP(clear_found) struct found found = {0};
    CLEANUP_CALL struct adopt_state *state = call_new(sizeof *state, clear_adopt);
    if (call_guest(guest, "read the guest's XML", read_xml, state, timeout_ms, err) < 0 ||
        read_found(state->xml, image_dir, golden_dir, &found, err) < 0)
        return -1;
    guest->run = state->run;
    struct guest_spec spec = *known;
    int64_t width = 0, height = 0;
    if (!found.emulator || !found.machine || !found.cmdline || !found.width || !found.height ||
        !text_to_integer(found.width, 1, UINT16_MAX, &width) ||
        !text_to_integer(found.height, 1, UINT16_MAX, &height))
        return error_set(err, ERROR_GUEST_FAILED, "the guest's XML is not that of a lease");
    spec.emulator = found.emulator;
    spec.machine = found.machine;
    spec.qemu_label = found.qemu_label;
    spec.kernel = found.kernel;
    spec.initrd = found.initrd;
    spec.cmdline = found.cmdline;
    spec.base = found.base;
    spec.golden = found.golden;
    spec.width = (uint32_t)width;
    spec.height = (uint32_t)height;
    return domain_inspect(state->xml, &spec, err);
}
