/* The very domain that a lease would start: rendered, inspected, and turned into QEMU's arguments. Bound: 5 s
 * for libvirt's answer. */
#include "doctor/probe_domain.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/image_name.h"
#include "guest/domain_xml.h"
#include "guest/inspect.h"

enum { NATIVE_TIMEOUT_MS = 5000, BERTH = 0 };

/* Stands for an image that is not there yet: the paths that it will have. */
static bool expected_image(const struct config *config, struct image *image)
{
    static const char *const suffixes[IMAGE_FILE_COUNT] = {".qcow2", ".kernel", ".initrd"};
    char stem[IMAGE_STEM_SIZE];
    if (!image_name_stem(config->image, stem))
        return false;
    for (int i = 0; i < IMAGE_FILE_COUNT; i++)
        image->parts[i].path = text_format("%s/%s%s", config->image_dir, stem, suffixes[i]);
    image->cmdline = text_copy("root=/dev/vda ro");
    image->display_width = 1280;
    image->display_height = 800;
    return true;
}

static void inspect_domain(struct hypervisor *hypervisor, const struct guest_spec *spec, struct facts *facts)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *xml = domain_xml_render(spec);
    facts->domain.inspected = domain_inspect(xml, spec, &err) == 0 ? FACT_YES : FACT_NO;
    PROBE_COPY(facts->domain.error, err.text);
    err = (struct error)ERROR_INIT;
    CLEANUP_FREE char *arguments = hypervisor_native_arguments(hypervisor, xml, NATIVE_TIMEOUT_MS, &err);
    facts->runtime.converts = arguments ? FACT_YES : FACT_NO;
    PROBE_COPY(facts->runtime.error, err.text);
    if (arguments)
        facts->domain.sandboxed = strstr(arguments, "-sandbox on") ? FACT_YES : FACT_NO;
}

void probe_domain(struct hypervisor *hypervisor, const struct config *config, const char *node_id,
                  const struct image *image, const struct hypervisor_facts *found, struct facts *facts)
{
    if (!found->emulator || !found->machine || !node_id)
        return;
    CLEANUP_IMAGE struct image *expected = image ? NULL : calloc(1, sizeof *expected);
    if (!image && (!expected || !expected_image(config, expected)))
        return;
    char name[GUEST_NAME_SIZE], uuid[GUEST_UUID_SIZE];
    guest_name(node_id, BERTH, name);
    guest_uuid(node_id, BERTH, uuid);
    CLEANUP_FREE char *overlay = text_format("%s/overlays/%s.qcow2", config->state_dir, name);
    CLEANUP_FREE char *console = text_format("%s/overlays/%s.console", config->state_dir, name);
    struct guest_spec spec;
    guest_spec_fill(&spec, config, image ? image : expected, found);
    spec.name = name;
    spec.uuid = uuid;
    spec.node_id = node_id;
    spec.lease_id = "l_00000000000000000000000000000000";
    spec.overlay = overlay;
    spec.console_log = console;
    inspect_domain(hypervisor, &spec, facts);
}

const struct member probe_domain_members[] = {
    FACT_IS(domain, inspected),
    FACT_IS(domain, sandboxed),
    FACT_SAYS(domain, error),
    FACT_ROWS_END,
};
