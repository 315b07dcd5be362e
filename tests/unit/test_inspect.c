/* The allow-list: what is rendered passes, and nothing else does. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    for (int variant = 0; variant < 16; variant++) {
        spec.kvm = variant & 1;
        spec.system = variant & 2;
        spec.qemu_label = variant & 2 ? "+64055:+64055" : NULL;
        spec.overlay = variant & 4 ? NULL : "/overlays/one.qcow2";
        spec.console_log = variant & 4 ? NULL : "/overlays/one.console.log";
        spec.golden = variant & 8 ? "/golden/one.qcow2" : NULL;
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

/* The chain of a guest of a golden state has exactly three files in their order, and no other chain passes.
 */
static void chains_of_another_depth(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct guest_spec plain = a_spec(), golden = a_spec(), other = a_spec();
    golden.golden = "/golden/one.qcow2";
    other.golden = "/golden/two.qcow2";
    CLEANUP_FREE char *two_files = domain_xml_render(&plain);
    CLEANUP_FREE char *three_files = domain_xml_render(&golden);
    assert_int_equal(domain_inspect(three_files, &golden, &err), 0);
    assert_int_equal(domain_inspect(three_files, &plain, &err), -1);
    assert_int_equal(domain_inspect(two_files, &golden, &err), -1);
    assert_int_equal(domain_inspect(three_files, &other, &err), -1);

    static const struct {
        const char *from, *to;
    } changes[] = {
        {"/golden/one.qcow2", "/etc/shadow"},
        {"/images/base.qcow2", "/golden/one.qcow2"},
        {"/golden/one.qcow2", "/images/base.qcow2"},
        {"<backingStore/>", ""},
        {"<backingStore/>",
         "<backingStore type='file'><format type='qcow2'/><source file='/images/base.qcow2'/>"
         "<backingStore/></backingStore>"},
        {"<backingStore type=\"file\">", "<backingStore type=\"block\">"},
        {"<format type=\"qcow2\"/>", "<format type=\"raw\"/>"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        CLEANUP_FREE char *xml = mutated(&golden, changes[i].from, changes[i].to);
        if (domain_inspect(xml, &golden, &err) == 0)
            fail_msg("accepted with %s for %s", changes[i].to, changes[i].from);
        assert_int_equal(err.code, ERROR_GUEST_FAILED);
    }
}

/* What a saved domain's XML becomes for the next guest: its disk, console, lease and uid, and nothing else.
 */
static void saved_xml_is_edited(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct guest_spec saved = a_spec(), next = a_spec();
    saved.lease_id = "";
    saved.overlay = "/golden/being-made.qcow2";
    next.golden = "/golden/one.qcow2";
    next.overlay = "/overlays/next.qcow2";
    next.console_log = "/overlays/next.console.log";
    next.qemu_label = "+70001:+64055";
    CLEANUP_FREE char *xml =
        mutated(&saved, "<genid/>", "<genid>b198c367-72ac-47ac-85d6-75d84452b62c</genid>");
    CLEANUP_FREE char *edited = domain_xml_edit(xml, &next, &err);
    assert_non_null(edited);
    if (domain_inspect(edited, &next, &err) < 0)
        fail_msg("%s", err.text);
    assert_non_null(strstr(edited, "b198c367-72ac-47ac-85d6-75d84452b62c"));
    assert_null(strstr(edited, "being-made"));

    /* libvirt adds a <console> that is the serial port again; both have to agree */
    CLEANUP_FREE char *with_console =
        mutated(&saved, "<channel",
                "<console type='file'><source path='/overlays/one.console.log' append='off'/>"
                "<target type='serial' port='0'/></console><channel");
    CLEANUP_FREE char *both = domain_xml_edit(with_console, &next, &err);
    if (domain_inspect(both, &next, &err) < 0)
        fail_msg("%s", err.text);

    /* what is not exchanged is judged: a device that was smuggled into the state, another guest's state */
    CLEANUP_FREE char *smuggled = mutated(&saved, "<panic", "<interface type='user'/><panic");
    CLEANUP_FREE char *with_network = domain_xml_edit(smuggled, &next, &err);
    assert_int_equal(domain_inspect(with_network, &next, &err), -1);
    CLEANUP_FREE char *foreign = mutated(&saved, "555555555555", "666666666666");
    CLEANUP_FREE char *of_another = domain_xml_edit(foreign, &next, &err);
    assert_int_equal(domain_inspect(of_another, &next, &err), -1);

    err = (struct error)ERROR_INIT;
    assert_null(domain_xml_edit("<domain", &next, &err));
    assert_int_equal(err.code, ERROR_HYPERVISOR);
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

/* Each berth's QEMU has a uid of its own where we can give files away; the group stays the daemon's. */
static void labels_of_berths(void **state)
{
    (void)state;
    char label[GUEST_LABEL_SIZE];
    struct guest_spec spec = a_spec();
    bool root = geteuid() == 0;
    /* 0x0123 = 291; 70000 + 291 * 64 */
    assert_int_equal(guest_label("+64055:+107", "0123456789abcdef", 0, NULL, label), root);
    assert_string_equal(label, root ? "+88624:+107" : "+64055:+107");
    spec.qemu_label = label;
    spec.own_uid = root;
    assert_int_equal(guest_spec_owner(&spec).uid, root ? 88624 : (uid_t)-1);
    assert_int_equal(guest_spec_owner(&spec).gid, 107);
    if (root) {
        assert_true(guest_label("+64055:+107", "0123456789abcdef", 63, NULL, label));
        assert_string_equal(label, "+88687:+107");
        /* 0xffff % 400 = 335: the places of all nodes lie below the subordinate uids */
        assert_true(guest_label("+64055:+107", "ffffffffffffffff", 1, NULL, label));
        assert_string_equal(label, "+91441:+107");
    }

    assert_false(guest_label("+64055:+107", "0123456789abcdef", 64, NULL, label));
    assert_string_equal(label, "+64055:+107");
    assert_false(guest_label("libvirt-qemu:kvm", "0123456789abcdef", 0, NULL, label));
    assert_string_equal(label, "libvirt-qemu:kvm");
    assert_false(guest_label("+64055:+107 ", "0123456789abcdef", 0, NULL, label));
    assert_false(guest_label(NULL, "0123456789abcdef", 0, NULL, label));
    assert_string_equal(label, "");

    spec.qemu_label = "+64055:+107";
    spec.own_uid = false;
    assert_int_equal(guest_spec_owner(&spec).uid, (uid_t)-1);
    assert_int_equal(guest_spec_owner(&spec).gid, 107);
    spec.qemu_label = NULL;
    assert_int_equal(guest_spec_owner(&spec).gid, (gid_t)-1);
}

/* A uid that no user has is in no group but the label's: it gets /dev/kvm by that group or as anybody. */
static void labels_under_kvm(void **state)
{
    (void)state;
    char label[GUEST_LABEL_SIZE], *device = unit_text("/tmp/berthos-unit-kvm-XXXXXX");
    bool root = geteuid() == 0;
    CLEANUP_CLOSE int fd = mkstemp(device);
    assert_true(fd >= 0);
    at_end(unit_remove, device);
    CLEANUP_FREE char *shared = text_format("+64055:+%u", (unsigned)(root ? 4242 : getegid()));
    assert_int_equal(root ? fchown(fd, 0, 4242) : 0, 0);
    static const struct {
        mode_t mode;
        bool opens;
    } cases[] = {{0660, true}, {0600, false}, {0640, false}, {0606, false}, {0666, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(fchmod(fd, cases[i].mode), 0);
        assert_int_equal(guest_label(shared, "0123456789abcdef", 0, device, label), root && cases[i].opens);
    }
    if (root) { /* Debian's: the label's group is another than the device's */
        assert_int_equal(fchown(fd, 0, 4243) | fchmod(fd, 0660), 0);
        assert_false(guest_label(shared, "0123456789abcdef", 0, device, label));
        assert_int_equal(fchmod(fd, 0666), 0);
        assert_true(guest_label(shared, "0123456789abcdef", 0, device, label));
    }
    end_now(device);
    assert_false(guest_label(shared, "0123456789abcdef", 0, device, label));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rendered_xml_passes), cmocka_unit_test(no_network_device_in_any_dress),
        cmocka_unit_test(values_that_differ),  cmocka_unit_test(what_is_missing),
        cmocka_unit_test(foreign_namespaces),  cmocka_unit_test(not_xml),
        cmocka_unit_test(names_and_uuids),     cmocka_unit_test(chains_of_another_depth),
        cmocka_unit_test(saved_xml_is_edited), cmocka_unit_test(labels_of_berths),
        UNIT_TEST(labels_under_kvm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
