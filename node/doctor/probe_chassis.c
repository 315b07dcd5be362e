/* Is this host carried around, or a guest itself? Bound: small files of
 * the kernel, which make nobody wait. */
#include "doctor/probe_chassis.h"

#include <dirent.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

/* A battery of the host; one of a mouse or a UPS's remote has scope Device. */
static bool host_battery(const char *supplies, const char *name)
{
    char line[64];
    CLEANUP_FREE char *type = text_format("%s/type", name);
    CLEANUP_FREE char *scope = text_format("%s/scope", name);
    if (!probe_line(supplies, type, line, sizeof line) || strcmp(line, "Battery") != 0)
        return false;
    return !(probe_line(supplies, scope, line, sizeof line) && strcmp(line, "Device") == 0);
}

static void find_battery(const struct probe_roots *roots, struct chassis_facts *facts)
{
    CLEANUP_FREE char *path = file_join(roots->sys, "class/power_supply");
    CLEANUP_FOLDER DIR *folder = opendir(path);
    if (!folder) {
        /* a kernel without the class knows no battery; a /sys that is not there says nothing */
        if (probe_exists(roots->sys, "class") == FACT_YES &&
            probe_exists(roots->sys, "class/power_supply") == FACT_NO)
            facts->battery = FACT_NO;
        return;
    }
    facts->battery = FACT_NO;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        if (entry->d_name[0] != '.' && host_battery(path, entry->d_name)) {
            facts->battery = FACT_YES;
            PROBE_COPY(facts->battery_name, entry->d_name);
        }
}

static enum fact find_lid(const struct probe_roots *roots)
{
    CLEANUP_FREE char *path = file_join(roots->proc, "acpi/button/lid");
    CLEANUP_FOLDER DIR *folder = opendir(path);
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder))
        if (entry->d_name[0] != '.')
            return FACT_YES;
    CLEANUP_FREE char *devices = probe_text(roots->proc, "bus/input/devices");
    if (devices)
        return strstr(devices, "\"Lid Switch\"") ? FACT_YES : FACT_NO;
    bool no_input =
        probe_exists(roots->sys, "class") == FACT_YES && probe_exists(roots->sys, "class/input") == FACT_NO;
    return no_input ? FACT_NO : FACT_UNKNOWN;
}

void probe_chassis(const struct probe_roots *roots, struct chassis_facts *facts)
{
    char vendor[64] = "", product[64] = "";
    if (!probe_number(roots->sys, "class/dmi/id/chassis_type", &facts->dmi_type))
        facts->dmi_type = 0;
    probe_line(roots->sys, "class/dmi/id/sys_vendor", vendor, sizeof vendor);
    probe_line(roots->sys, "class/dmi/id/product_name", product, sizeof product);
    CLEANUP_FREE char *name = text_format("%s%s%s", vendor, vendor[0] && product[0] ? " " : "", product);
    PROBE_COPY(facts->product, name[0] ? name : "no product name");
    facts->hypervisor = probe_cpu_flag(roots, "hypervisor");
    find_battery(roots, facts);
    facts->lid = find_lid(roots);
}

const struct member probe_chassis_members[] = {
    FACT_COUNTS(chassis, dmi_type),
    FACT_SAYS(chassis, product),
    FACT_IS(chassis, hypervisor),
    FACT_IS(chassis, battery),
    FACT_IS(chassis, lid),
    FACT_SAYS(chassis, battery_name),
    FACT_ROWS_END,
};
