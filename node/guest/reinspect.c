#include "guest/reinspect.h"

#include <libvirt/virterror.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "guest/call.h"
#include "guest/inspect.h"
#include "guest/libvirt_error.h"
#include "guest/xml.h"

/* What an image and a hypervisor decided when the domain was made, and where its XML says it. */
enum fact { EMULATOR, MACHINE, LABEL, KERNEL, INITRD, CMDLINE, WIDTH, HEIGHT, BELOW, LOWEST, FACTS };

static const char *const places[FACTS] = {
    [EMULATOR] = "string(/domain/devices/emulator)",
    [MACHINE] = "string(/domain/os/type/@machine)",
    [LABEL] = "string(/domain/seclabel[@model='dac']/label)",
    [KERNEL] = "string(/domain/os/kernel)",
    [INITRD] = "string(/domain/os/initrd)",
    [CMDLINE] = "string(/domain/os/cmdline)",
    [WIDTH] = "string(/domain/devices/video/model/resolution/@x)",
    [HEIGHT] = "string(/domain/devices/video/model/resolution/@y)",
    /* the files that the overlay lies on; how deep the chain is beyond that domain_inspect() sees */
    [BELOW] = "string(/domain/devices/disk/backingStore/source/@file)",
    [LOWEST] = "string(/domain/devices/disk/backingStore/backingStore/source/@file)",
};

struct reinspect_state {
    char *xml; /* out */
    int run;   /* out */
    char *found[FACTS];
};

static void clear_reinspect(void *state)
{
    struct reinspect_state *again = state;
    free(again->xml);
    for (size_t i = 0; i < FACTS; i++)
        free(again->found[i]);
}

static int read_xml(virDomainPtr domain, void *state, struct error *err)
{
    struct reinspect_state *again = state;
    again->run = (int)virDomainGetID(domain);
    again->xml = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_SECURE);
    return again->xml ? 0 : libvirt_error(ERROR_HYPERVISOR, err, "cannot read the guest's XML");
}

/* A file directly in the folder. */
static bool lies_in(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return path && strncmp(path, folder, length) == 0 && path[length] == '/' && path[length + 1] != '.' &&
           !strchr(path + length + 1, '/');
}

/* Takes into spec what was found. */
static int complete_spec(struct guest_spec *spec, char *const found[FACTS], const char *image_dir,
                         const char *golden_dir, struct error *err)
{
    int64_t width = 0, height = 0;
    spec->emulator = found[EMULATOR];
    spec->machine = found[MACHINE];
    spec->qemu_label = found[LABEL];
    spec->kernel = found[KERNEL];
    spec->initrd = found[INITRD];
    spec->cmdline = found[CMDLINE];
    spec->golden = found[LOWEST] ? found[BELOW] : NULL;
    spec->base = found[LOWEST] ? found[LOWEST] : found[BELOW];
    if (!lies_in(spec->kernel, image_dir) || !lies_in(spec->initrd, image_dir) ||
        !lies_in(spec->base, image_dir))
        return error_set(err, ERROR_GUEST_FAILED, "the guest was not started from an image in %s", image_dir);
    if (spec->golden && !lies_in(spec->golden, golden_dir))
        return error_set(err, ERROR_GUEST_FAILED, "the guest's disk does not lie on a golden state in %s",
                         golden_dir);
    if (!spec->emulator || !spec->machine || !spec->cmdline || !found[WIDTH] || !found[HEIGHT] ||
        !text_to_integer(found[WIDTH], 1, UINT16_MAX, &width) ||
        !text_to_integer(found[HEIGHT], 1, UINT16_MAX, &height))
        return error_set(err, ERROR_GUEST_FAILED, "the guest's XML is not that of a lease");
    spec->width = (uint32_t)width;
    spec->height = (uint32_t)height;
    return 0;
}

int guest_reinspect(struct guest *guest, const struct guest_spec *known, const char *image_dir,
                    const char *golden_dir, int64_t timeout_ms, struct error *err)
{
    struct guest_spec spec = *known;
    CLEANUP_CALL struct reinspect_state *again = call_new(sizeof *again, clear_reinspect);
    if (call_guest(guest, "read the guest's XML", read_xml, again, timeout_ms, err) < 0)
        return -1;
    CLEANUP_XML xmlDoc *doc = guest_xml_parse(again->xml, "the guest's XML", err);
    if (!doc)
        return -1;
    for (size_t i = 0; i < FACTS; i++)
        again->found[i] = guest_xml_string(doc, places[i]);
    if (complete_spec(&spec, again->found, image_dir, golden_dir, err) < 0)
        return -1;
    guest->run = again->run;
    return domain_inspect(again->xml, &spec, err);
}
