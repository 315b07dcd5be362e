/*
 * What the code relies on in libvirt and QEMU. Every domain here is diskless or nearly so, starts paused, and
 * is destroyed by libvirt itself when this program's connection closes (AUTODESTROY), however it ends.
 */
#include "unit.h"

#include <fcntl.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/process.h"
#include "base/random.h"
#include "base/text.h"

#define OUR_NAMESPACE "https://berthos.dev/xmlns/platform-test"

static virConnectPtr connection;

static void quiet(void *context, virErrorPtr error)
{
    (void)context;
    (void)error;
}

static int connect_once(void **state)
{
    (void)state;
    virSetErrorFunc(NULL, quiet);
    connection = virConnectOpen("qemu:///system");
    if (!connection)
        fprintf(stderr, "no libvirt at qemu:///system: run this under tests/hypervisor.sh run\n");
    return connection ? 0 : -1;
}

static int disconnect(void **state)
{
    (void)state;
    return virConnectClose(connection) < 0 ? -1 : 0;
}

/* A small q35 domain. top: further elements of <domain>; devices: further elements of <devices>. */
static char *domain_xml(const char *name, const char *top, const char *os, const char *devices)
{
    return text_format("<domain type='qemu'><name>%s</name><memory unit='MiB'>64</memory><vcpu>1</vcpu>"
                       "<os><type arch='x86_64' machine='q35'>hvm</type>%s</os>%s"
                       "<devices><controller type='usb' model='none'/><memballoon model='none'/>"
                       "<graphics type='vnc'><listen type='none'/></graphics>"
                       "<video><model type='virtio'/></video>%s</devices></domain>",
                       name, os, top, devices);
}

static char *fresh_name(void)
{
    char suffix[9];
    random_hex(suffix, 4);
    return text_format("berthos-platform-%s", suffix);
}

static void end_domain(virDomainPtr *domain)
{
    if (*domain) {
        virDomainDestroy(*domain);
        virDomainFree(*domain);
    }
}
#define CLEANUP_DOMAIN CLEANUP(end_domain)

static const char *last_reason(void)
{
    const virError *error = virGetLastError();
    return error && error->message ? error->message : "no reason";
}

static virDomainPtr start(const char *xml, unsigned flags)
{
    virDomainPtr domain =
        virDomainCreateXML(connection, xml, VIR_DOMAIN_START_PAUSED | VIR_DOMAIN_START_AUTODESTROY | flags);
    if (!domain)
        print_message("%s\n", last_reason());
    return domain;
}

/* The XML is refused with VALIDATE only: without it a misspelt restriction would be dropped in silence. */
static void validate_refuses_an_unknown_element(void **state)
{
    (void)state;
    CLEANUP_FREE char *name = fresh_name();
    CLEANUP_FREE char *xml = domain_xml(name, "<berthosunknown/>", "", "");
    assert_null(start(xml, VIR_DOMAIN_START_VALIDATE));
    assert_int_equal(virGetLastError()->code, VIR_ERR_XML_INVALID_SCHEMA);
    CLEANUP_DOMAIN virDomainPtr accepted = start(xml, 0);
    assert_non_null(accepted);
    CLEANUP_FREE char *live = virDomainGetXMLDesc(accepted, 0);
    assert_null(strstr(live, "berthosunknown"));
}

/* A listening serial port starts without complaint: a deny-list of devices would not do. */
static void a_listening_serial_port_is_accepted(void **state)
{
    (void)state;
    CLEANUP_FREE char *name = fresh_name();
    CLEANUP_FREE char *xml = domain_xml(
        name, "", "",
        "<serial type='unix'><source mode='bind' path='/run/libvirt/qemu/berthos-platform.sock'/></serial>");
    CLEANUP_DOMAIN virDomainPtr domain = start(xml, VIR_DOMAIN_START_VALIDATE);
    assert_non_null(domain);
}

static void listen_none_is_vnc_none(void **state)
{
    (void)state;
    CLEANUP_FREE char *xml = domain_xml("berthos-platform-native", "", "", "");
    CLEANUP_FREE char *arguments = virConnectDomainXMLToNative(connection, "qemu-argv", xml, 0);
    assert_non_null(arguments);
    assert_non_null(strstr(arguments, "-vnc none"));
    assert_non_null(strstr(arguments, "-sandbox on"));
    assert_null(strstr(arguments, "-netdev"));
}

static void greets(int fd)
{
    char greeting[13] = "";
    size_t got = 0;
    while (got < 12) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&ready, 1, 10000), 1);
        ssize_t part = read(fd, greeting + got, 12 - got);
        assert_true(part > 0);
        got += (size_t)part;
    }
    assert_string_equal(greeting, "RFB 003.008\n");
}

/* Each user of the picture gets a descriptor of its own, and the first lives on. */
static void graphics_descriptors_are_many(void **state)
{
    (void)state;
    CLEANUP_FREE char *name = fresh_name();
    CLEANUP_FREE char *xml = domain_xml(name, "", "", "");
    CLEANUP_DOMAIN virDomainPtr domain = start(xml, VIR_DOMAIN_START_VALIDATE);
    assert_non_null(domain);
    CLEANUP_CLOSE int first = virDomainOpenGraphicsFD(domain, 0, VIR_DOMAIN_OPEN_GRAPHICS_SKIPAUTH);
    CLEANUP_CLOSE int second = virDomainOpenGraphicsFD(domain, 0, VIR_DOMAIN_OPEN_GRAPHICS_SKIPAUTH);
    assert_true(first >= 0);
    assert_true(second >= 0);
    greets(second);
    greets(first);
}

static void metadata_comes_back(void **state)
{
    (void)state;
    CLEANUP_FREE char *name = fresh_name();
    CLEANUP_FREE char *xml =
        domain_xml(name, "<metadata><b:lease xmlns:b='" OUR_NAMESPACE "' id='l_1'/></metadata>", "", "");
    CLEANUP_DOMAIN virDomainPtr domain = start(xml, VIR_DOMAIN_START_VALIDATE);
    assert_non_null(domain);
    CLEANUP_FREE char *born =
        virDomainGetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, OUR_NAMESPACE, VIR_DOMAIN_AFFECT_LIVE);
    assert_non_null(born);
    assert_non_null(strstr(born, "id=\"l_1\""));
    assert_int_equal(virDomainSetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, "<lease id='l_2'/>", "b",
                                          OUR_NAMESPACE, VIR_DOMAIN_AFFECT_LIVE),
                     0);
    CLEANUP_FREE char *changed =
        virDomainGetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, OUR_NAMESPACE, VIR_DOMAIN_AFFECT_LIVE);
    assert_non_null(changed);
    assert_non_null(strstr(changed, "l_2"));
    assert_null(strstr(changed, "l_1"));
}

static void unknown_and_taken_have_their_codes(void **state)
{
    (void)state;
    static const unsigned char nobody[VIR_UUID_BUFLEN] = {0xbe, 0x27, 0x40, 0x55, 0, 0, 0x50, 0, 0x80};
    assert_null(virDomainLookupByUUID(connection, nobody));
    assert_int_equal(virGetLastError()->code, VIR_ERR_NO_DOMAIN);

    CLEANUP_FREE char *name = fresh_name();
    CLEANUP_FREE char *xml = domain_xml(name, "", "", "");
    CLEANUP_DOMAIN virDomainPtr domain = start(xml, VIR_DOMAIN_START_VALIDATE);
    assert_non_null(domain);
    assert_null(virDomainCreateXML(connection, xml, VIR_DOMAIN_START_PAUSED));
    assert_int_equal(virGetLastError()->code, VIR_ERR_OPERATION_FAILED);

    /* gone means gone: a transient domain leaves no definition, and a second destroy says so */
    assert_int_equal(virDomainIsPersistent(domain), 0);
    assert_int_equal(virDomainDestroy(domain), 0);
    assert_int_equal(virDomainDestroy(domain), -1);
    assert_true(virGetLastError()->code == VIR_ERR_NO_DOMAIN ||
                virGetLastError()->code == VIR_ERR_OPERATION_INVALID);
    assert_null(virDomainLookupByName(connection, name));
    assert_int_equal(virGetLastError()->code, VIR_ERR_NO_DOMAIN);
}

/* Files for a start with kernel, initrd and an overlay on a base; QEMU never runs what is in them. */
struct files {
    char *folder, *base, *kernel, *initrd, *overlay;
};

/* The least that QEMU takes for a bzImage: the magic and a protocol that knows an initrd (Linux
 * Documentation/x86/boot).
 */
static void write_kernel(const char *path)
{
    enum { SIZE = 64 * 1024 };
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *image = calloc(1, SIZE);
    memcpy(image + 0x202, "HdrS\x0c\x02", 6);
    image[0x211] = 1;                             /* loaded high */
    memcpy(image + 0x22c, "\xff\xff\xff\x37", 4); /* the highest address of an initrd */
    if (file_write_atomic(path, 0444, image, SIZE, &err) < 0)
        fail_msg("%s", err.text);
}

static void qemu_img(const char *const argv[])
{
    struct error err = ERROR_INIT;
    if (process_run(argv, 60000, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static int make_files(void **state)
{
    struct files *files = calloc(1, sizeof *files);
    struct error err = ERROR_INIT;
    *state = files;
    files->folder = text_copy("/var/tmp/berthos-platform.XXXXXX");
    if (!mkdtemp(files->folder) || chmod(files->folder, 0711) < 0)
        return -1;
    files->base = file_join(files->folder, "base.qcow2");
    files->kernel = file_join(files->folder, "kernel");
    files->initrd = file_join(files->folder, "initrd");
    files->overlay = file_join(files->folder, "overlay.qcow2");
    write_kernel(files->kernel);
    file_write_atomic(files->initrd, 0444, "initrd", 6, &err);
    qemu_img((const char *const[]){"qemu-img", "create", "-q", "-f", "qcow2", files->base, "16M", NULL});
    qemu_img((const char *const[]){"qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b",
                                   files->base, files->overlay, NULL});
    return chmod(files->base, 0444);
}

static int remove_files(void **state)
{
    struct files *files = *state;
    struct error err = ERROR_INIT;
    int failed = process_run((const char *const[]){"rm", "-rf", files->folder, NULL}, 10000, NULL, &err);
    free(files->folder);
    free(files->base);
    free(files->kernel);
    free(files->initrd);
    free(files->overlay);
    free(files);
    return failed;
}

/* QEMU's user and group as the host's capabilities name them: "+64055:+107". */
static void qemu_owner(uid_t *user, gid_t *group)
{
    CLEANUP_FREE char *capabilities = virConnectGetCapabilities(connection);
    assert_non_null(capabilities);
    const char *label = strstr(capabilities, "<baselabel type='qemu'>+");
    assert_non_null(label);
    assert_int_equal(sscanf(label, "<baselabel type='qemu'>+%u:+%u<", user, group), 2);
}

static void assert_untouched(const char *path, const struct stat *before)
{
    struct stat now;
    assert_int_equal(stat(path, &now), 0);
    if (now.st_uid != before->st_uid || now.st_gid != before->st_gid || now.st_mode != before->st_mode ||
        now.st_ctim.tv_sec != before->st_ctim.tv_sec || now.st_ctim.tv_nsec != before->st_ctim.tv_nsec)
        fail_msg("%s is now %u:%u mode %o", path, now.st_uid, now.st_gid, now.st_mode & 07777);
}

/*
 * With a static label and relabel='no' nobody changes the owner of the base, the kernel and the initrd. Left
 * alone, libvirt gives the backing file to QEMU's user and leaves it so: a QEMU taken over by its guest could
 * then write what every later tenant starts from.
 */
static void without_relabelling_files_keep_their_owner(void **state)
{
    const struct files *files = *state;
    uid_t user;
    gid_t group;
    qemu_owner(&user, &group);
    assert_int_equal(chown(files->overlay, 0, group), 0);
    assert_int_equal(chmod(files->overlay, 0660), 0);
    struct stat base, kernel, initrd, overlay;
    assert_int_equal(stat(files->base, &base) | stat(files->kernel, &kernel) | stat(files->initrd, &initrd) |
                         stat(files->overlay, &overlay),
                     0);

    CLEANUP_FREE char *name = fresh_name();
    CLEANUP_FREE char *label = text_format(
        "<seclabel type='static' model='dac' relabel='no'><label>+%u:+%u</label></seclabel>", user, group);
    CLEANUP_FREE char *os = text_format("<kernel>%s</kernel><initrd>%s</initrd><cmdline>quiet</cmdline>",
                                        files->kernel, files->initrd);
    CLEANUP_FREE char *disk = text_format(
        "<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='%s'/>"
        "<backingStore type='file'><format type='qcow2'/><source file='%s'/><backingStore/></backingStore>"
        "<target dev='vda' bus='virtio'/></disk>",
        files->overlay, files->base);
    CLEANUP_FREE char *xml = domain_xml(name, label, os, disk);
    {
        CLEANUP_DOMAIN virDomainPtr domain = start(xml, VIR_DOMAIN_START_VALIDATE);
        assert_non_null(domain);
        assert_untouched(files->base, &base);
        assert_untouched(files->kernel, &kernel);
        assert_untouched(files->initrd, &initrd);
        assert_untouched(files->overlay, &overlay);
    }
    assert_untouched(files->base, &base);
    assert_untouched(files->kernel, &kernel);
    assert_untouched(files->initrd, &initrd);
    assert_untouched(files->overlay, &overlay);
}

/* QEMU runs as its own user, can gain no privilege, and filters system calls: /proc says so. */
static void qemu_is_confined(void **state)
{
    (void)state;
    uid_t user;
    gid_t group;
    qemu_owner(&user, &group);
    CLEANUP_FREE char *name = fresh_name();
    CLEANUP_FREE char *xml = domain_xml(name, "", "", "");
    CLEANUP_DOMAIN virDomainPtr domain = start(xml, VIR_DOMAIN_START_VALIDATE);
    assert_non_null(domain);
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *pid_path = text_format("/run/libvirt/qemu/%s.pid", name);
    CLEANUP_FREE char *pid = NULL;
    CLEANUP_FREE char *status = NULL;
    assert_int_equal(file_read(pid_path, 32, &pid, NULL, &err), 0);
    CLEANUP_FREE char *status_path = text_format("/proc/%d/status", atoi(pid));
    assert_int_equal(file_read(status_path, 1 << 16, &status, NULL, &err), 0);
    CLEANUP_FREE char *uid_line = text_format("\nUid:\t%u\t%u\t%u\t%u\n", user, user, user, user);
    assert_non_null(strstr(status, uid_line));
    assert_non_null(strstr(status, "\nNoNewPrivs:\t1\n"));
    assert_non_null(strstr(status, "\nSeccomp:\t2\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(validate_refuses_an_unknown_element),
        cmocka_unit_test(a_listening_serial_port_is_accepted),
        cmocka_unit_test(listen_none_is_vnc_none),
        cmocka_unit_test(graphics_descriptors_are_many),
        cmocka_unit_test(metadata_comes_back),
        cmocka_unit_test(unknown_and_taken_have_their_codes),
        cmocka_unit_test_setup_teardown(without_relabelling_files_keep_their_owner, make_files, remove_files),
        cmocka_unit_test(qemu_is_confined),
    };
    return cmocka_run_group_tests(tests, connect_once, disconnect);
}
