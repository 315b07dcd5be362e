/* The allow-list: what is rendered passes, and nothing else does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "guest/domain_xml.h"
#include "guest/inspect.h"

static struct guest_spec a_spec(void)
{
    return (struct guest_spec){
        .name = "berth-01234567-0",
        .uuid = "11111111-2222-5333-8444-555555555555",
        .node_id = "0123456789abcdef",
        .lease_id = "l_00112233445566778899aabbccddeeff",
        .emulator = "/usr/bin/qemu-system-x86_64",
        .machine = "pc-q35-7.2",
        .system = true,
        .qemu_label = "+64055:+64055",
        .vcpu = 2,
        .mem_mib = 4096,
        .kernel = "/images/kernel",
        .initrd = "/images/initrd",
        .cmdline = "quiet a=\"b<c>&d\"",
        .base = "/images/base.qcow2",
        .overlay = "/overlays/one.qcow2",
        .console_log = "/overlays/one.console.log",
        .width = 1280,
        .height = 800,
    };
}

/* The rendered XML with the first `from` replaced. */
static char *mutated(const struct guest_spec *spec, const char *from, const char *to)
{
    CLEANUP_FREE char *xml = domain_xml_render(spec);
    char *at = strstr(xml, from);
    assert_non_null(at);
    return text_format("%.*s%s%s", (int)(at - xml), xml, to, at + strlen(from));
}

static void refuse(const char *from, const char *to)
{
    struct error err = ERROR_INIT;
    struct guest_spec spec = a_spec();
    CLEANUP_FREE char *xml = mutated(&spec, from, to);
    if (domain_inspect(xml, &spec, &err) == 0)
        fail_msg("accepted with %s", to);
    assert_int_equal(err.code, ERROR_GUEST_FAILED);
    assert_non_null(strstr(err.text, "not the one that was asked for"));
}

static void rendered_xml_passes(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct guest_spec spec = a_spec();
    for (int variant = 0; variant < 8; variant++) {
        spec.kvm = variant & 1;
        spec.system = variant & 2;
        spec.qemu_label = variant & 2 ? "+64055:+64055" : NULL;
        spec.overlay = variant & 4 ? NULL : "/overlays/one.qcow2";
        spec.console_log = variant & 4 ? NULL : "/overlays/one.console.log";
        CLEANUP_FREE char *xml = domain_xml_render(&spec);
        if (domain_inspect(xml, &spec, &err) < 0)
            fail_msg("variant %d: %s", variant, err.text);
    }
}

static void no_network_device_in_any_dress(void **state)
{
    (void)state;
    static const char *const devices[] = {
        "<interface type='network'><source network='default'/></interface>",
        "<interface type='user'/>",
        "<hostdev mode='subsystem' type='pci'/>",
        "<filesystem type='mount'><source dir='/'/><target dir='x'/></filesystem>",
        "<redirdev bus='usb' type='tcp'/>",
        "<serial type='tcp'><source mode='bind' host='0.0.0.0' service='1'/></serial>",
        "<serial type='file'><source path='/overlays/one.console.log' append='off'/></serial>",
        "<parallel type='file'/>",
        "<channel type='spicevmc'/>",
        "<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>",
        "<channel type='unix'><target type='virtio' name='org.libguestfs.channel.0'/></channel>",
        "<graphics type='spice'/>",
        "<disk type='file' device='cdrom'><source file='/etc/shadow'/></disk>",
        "<controller type='scsi' index='0'/>",
        "<vsock model='virtio'/>",
        "<tpm model='tpm-tis'/>",
        "<smartcard mode='host'/>",
        "<sound model='ich9'/>",
        "<shmem name='s'/>",
        "<lease/>",
        "<input type='evdev'><source dev='/dev/input/event0'/></input>",
    };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        CLEANUP_FREE char *with = text_format("%s<panic", devices[i]);
        refuse("<panic", with);
    }
}

static void values_that_differ(void **state)
{
    (void)state;
    refuse("<listen type=\"none\"/>", "<listen type=\"address\" address=\"0.0.0.0\"/>");
    refuse("<graphics type=\"vnc\">", "<graphics type=\"vnc\" port=\"5900\">");
    refuse("/overlays/one.qcow2", "/etc/shadow");
    refuse("/images/base.qcow2", "/dev/sda");
    refuse("/images/kernel", "/boot/vmlinuz");
    refuse("pc-q35-7.2", "pc-i440fx-7.2");
    refuse("<on_reboot>destroy", "<on_reboot>restart");
    refuse("cache=\"unsafe\"", "cache=\"none\"");
    refuse("relabel=\"no\"", "relabel=\"yes\"");
    refuse("+64055:+64055", "+0:+0");
    refuse("/dev/urandom", "/dev/sda");
    refuse("l_00112233445566778899aabbccddeeff", "l_ffffffffffffffffffffffffffffffff");
    refuse("type=\"qemu\"", "type=\"kvm\"");
    refuse("<vcpu>2", "<vcpu>64");
    refuse("model type=\"virtio\" heads=\"1\"", "model type=\"virtio\" heads=\"2\"");
}

static void what_is_missing(void **state)
{
    (void)state;
    refuse("<backingStore/>", "");
    refuse("<memballoon model=\"none\"/>", "");
    refuse("<genid/>", "");
    refuse("<soft_limit unit=\"KiB\">5242880</soft_limit>", "");
}

static void foreign_namespaces(void **state)
{
    (void)state;
    refuse("<devices>", "<q:commandline xmlns:q=\"http://libvirt.org/schemas/domain/qemu/1.0\"/><devices>");
    refuse("<panic", "<x:disk xmlns:x=\"urn:x\"/><panic");
    refuse("https://berthos.dev/xmlns/domain/1", "urn:other");
    refuse("<genid/>", "<genid/><!-- fine --><?processing instruction?>");
}

static void not_xml(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct guest_spec spec = a_spec();
    assert_int_equal(domain_inspect("<domain", &spec, &err), -1);
    assert_int_equal(domain_inspect("", &spec, &err), -1);
    assert_int_equal(domain_inspect("<domain/>", &spec, &err), -1);
}

static void names_and_uuids(void **state)
{
    (void)state;
    char uuid[GUEST_UUID_SIZE], again[GUEST_UUID_SIZE], other[GUEST_UUID_SIZE], name[GUEST_NAME_SIZE];
    guest_name("0123456789abcdef", 3, name);
    assert_string_equal(name, "berth-01234567-3");
    guest_uuid("0123456789abcdef", 0, uuid);
    guest_uuid("0123456789abcdef", 0, again);
    guest_uuid("0123456789abcdef", 1, other);
    assert_string_equal(uuid, again);
    assert_string_not_equal(uuid, other);
    assert_int_equal(strlen(uuid), 36);
    assert_int_equal(uuid[14], '5');           /* version */
    assert_non_null(strchr("89ab", uuid[19])); /* variant */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rendered_xml_passes), cmocka_unit_test(no_network_device_in_any_dress),
        cmocka_unit_test(values_that_differ),  cmocka_unit_test(what_is_missing),
        cmocka_unit_test(foreign_namespaces),  cmocka_unit_test(not_xml),
        cmocka_unit_test(names_and_uuids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
