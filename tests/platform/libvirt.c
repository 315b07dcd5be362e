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
    virEventRegisterDefaultImpl();
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

/* --- a run of a domain ----------------------------------------------------------------------------- */

/* What the next event said: its kind, and the id of the domain that came with it. */
struct seen_event {
    int event, run;
};

static int on_event(virConnectPtr of, virDomainPtr domain, int event, int detail, void *context)
{
    (void)of;
    (void)detail;
    struct seen_event *seen = context;
    *seen = (struct seen_event){event, (int)virDomainGetID(domain)};
    return 0;
}

static void on_time_out(int timer, void *context)
{
    (void)timer;
    *(bool *)context = true;
}

static void wait_for_event(struct seen_event *seen, int event, int run)
{
    bool late = false;
    int timer = virEventAddTimeout(20000, on_time_out, &late, NULL);
    while (!late && seen->event != event)
        assert_int_equal(virEventRunDefaultImpl(), 0);
    virEventRemoveTimeout(timer);
    assert_int_equal(seen->event, event);
    assert_int_equal(seen->run, run);
}

/*
 * The id of a domain is of one run of it: positive, what a look-up finds, and what events carry when its CPUs
 * stand or go on; the next run under the same UUID has another. A pointer through which the domain was
 * destroyed has lost it: it is asked for before. That it is the same after libvirtd's restart is not cheap to
 * see here, and live.libvirt_down sees it: a lease whose guest had another id by then would be over.
 */
static void a_run_has_an_id_of_its_own(void **state)
{
    (void)state;
    CLEANUP_FREE char *name = fresh_name();
    CLEANUP_FREE char *xml = domain_xml(name, "<uuid>be274055-0000-5000-8000-000000000003</uuid>", "", "");
    int first_run;
    {
        CLEANUP_DOMAIN virDomainPtr domain = start(xml, VIR_DOMAIN_START_VALIDATE);
        assert_non_null(domain);
        first_run = (int)virDomainGetID(domain);
        assert_true(first_run > 0);
        virDomainPtr again = virDomainLookupByName(connection, name);
        assert_non_null(again);
        assert_int_equal(virDomainGetID(again), first_run);
        virDomainFree(again);

        struct seen_event seen = {.event = -1};
        int id = virConnectDomainEventRegisterAny(connection, domain, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
                                                  VIR_DOMAIN_EVENT_CALLBACK(on_event), &seen, NULL);
        assert_true(id >= 0);
        assert_int_equal(virDomainResume(domain), 0);
        wait_for_event(&seen, VIR_DOMAIN_EVENT_RESUMED, first_run);
        assert_int_equal(virDomainSuspend(domain), 0);
        wait_for_event(&seen, VIR_DOMAIN_EVENT_SUSPENDED, first_run);
        assert_int_equal(virConnectDomainEventDeregisterAny(connection, id), 0);
        assert_int_equal(virDomainDestroy(domain), 0);
        assert_int_equal((int)virDomainGetID(domain), -1);
    }
    CLEANUP_DOMAIN virDomainPtr next = start(xml, VIR_DOMAIN_START_VALIDATE);
    assert_non_null(next);
    assert_true((int)virDomainGetID(next) > 0);
    assert_int_not_equal(virDomainGetID(next), first_run);
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

/* --- guests with a uid of their own, saved and restored -------------------------------------------- */

enum { OWN_UID = 70001, OTHER_UID = 70002 };

/*
 * A domain with a uid of its own and the overlay as its disk. backing: what lies below the overlay, as
 * <backingStore> elements.
 */
static char *own_uid_xml(const struct files *files, const char *name, uid_t uid, const char *overlay,
                         const char *backing)
{
    uid_t user;
    gid_t group;
    qemu_owner(&user, &group);
    CLEANUP_FREE char *top =
        text_format("<genid/><metadata><b:lease xmlns:b='" OUR_NAMESPACE "' id='l_1'/></metadata>"
                    "<seclabel type='static' model='dac' relabel='no'><label>+%u:+%u</label></seclabel>",
                    uid, group);
    CLEANUP_FREE char *os = text_format("<kernel>%s</kernel><initrd>%s</initrd><cmdline>quiet</cmdline>",
                                        files->kernel, files->initrd);
    CLEANUP_FREE char *devices =
        text_format("<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='%s'/>%s"
                    "<target dev='vda' bus='virtio'/></disk>"
                    "<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>",
                    overlay, backing);
    return domain_xml(name, top, os, devices);
}

/* <backingStore> of one file on what is below it. *Owned*. */
static char *on(const char *file, const char *below)
{
    return text_format("<backingStore type='file'><format type='qcow2'/><source file='%s'/>%s</backingStore>",
                       file, below);
}

static void give_to_own_uid(const char *overlay)
{
    uid_t user;
    gid_t group;
    qemu_owner(&user, &group);
    assert_int_equal(chown(overlay, OWN_UID, group) | chmod(overlay, 0600), 0);
}

/*
 * A label with a uid that no user has: QEMU runs as it, in the label's group and no other, libvirt gives it
 * the domain's own folder although nothing is relabelled, and another such QEMU cannot open its overlay.
 */
static void a_uid_of_its_own(void **state)
{
    const struct files *files = *state;
    struct error err = ERROR_INIT;
    uid_t user;
    gid_t group;
    qemu_owner(&user, &group);
    give_to_own_uid(files->overlay);
    CLEANUP_FREE char *backing = on(files->base, "<backingStore/>");
    CLEANUP_FREE char *name = fresh_name();
    CLEANUP_FREE char *other = own_uid_xml(files, name, OTHER_UID, files->overlay, backing);
    assert_null(start(other, VIR_DOMAIN_START_VALIDATE));
    assert_non_null(strstr(last_reason(), "Permission denied"));

    CLEANUP_FREE char *xml = own_uid_xml(files, name, OWN_UID, files->overlay, backing);
    CLEANUP_DOMAIN virDomainPtr domain = start(xml, VIR_DOMAIN_START_VALIDATE);
    assert_non_null(domain);
    CLEANUP_FREE char *pid_path = text_format("/run/libvirt/qemu/%s.pid", name);
    CLEANUP_FREE char *pid = NULL;
    CLEANUP_FREE char *status = NULL;
    assert_int_equal(file_read(pid_path, 32, &pid, NULL, &err), 0);
    CLEANUP_FREE char *status_path = text_format("/proc/%d/status", atoi(pid));
    assert_int_equal(file_read(status_path, 1 << 16, &status, NULL, &err), 0);
    CLEANUP_FREE char *lines = text_format("\nUid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\n", OWN_UID, OWN_UID,
                                           OWN_UID, OWN_UID, group, group, group, group);
    assert_non_null(strstr(status, lines));
    CLEANUP_FREE char *groups = text_format("\nGroups:\t%u \n", group);
    assert_non_null(strstr(status, groups));
    struct stat info;
    CLEANUP_FREE char *folder =
        text_format("/var/lib/libvirt/qemu/domain-%u-%.20s", virDomainGetID(domain), name);
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_uid, OWN_UID);
}

/* The genid in a domain's XML. *Owned*. */
static char *genid_of(const char *xml)
{
    const char *at = strstr(xml, "<genid>");
    assert_non_null(at);
    return text_format("%.36s", at + strlen("<genid>"));
}

/* The XML with each `from` replaced. *Owned*. */
static char *replaced(const char *xml, const char *from, const char *to)
{
    char *text = text_copy(xml);
    for (char *at = strstr(text, from); at; at = strstr(text, from)) {
        char *longer = text_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
        free(text);
        text = longer;
    }
    return text;
}

/*
 * Restores with a fresh overlay on the golden disk and another lease; the new domain's genid. *Owned*. *run:
 * the id of the run before it, then of this one.
 */
static char *restore_once(const struct files *files, const char *state, const char *saved, const char *golden,
                          const char *uuid, const char *lease, int *run)
{
    CLEANUP_FREE char *overlay = text_format("%s/%s.qcow2", files->folder, lease);
    qemu_img((const char *const[]){"qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", golden,
                                   overlay, NULL});
    give_to_own_uid(overlay);
    const char *chain = strstr(saved, "<source file="), *end = strstr(saved, "<target dev=");
    assert_true(chain && end);
    CLEANUP_FREE char *base = on(files->base, "<backingStore/>");
    CLEANUP_FREE char *below = on(golden, base);
    CLEANUP_FREE char *other_disk =
        text_format("%.*s<source file='%s'/>%s%s", (int)(chain - saved), saved, overlay, below, end);
    CLEANUP_FREE char *xml = replaced(other_disk, "l_1", lease);
    if (virDomainRestoreFlags(connection, state, xml, VIR_DOMAIN_SAVE_PAUSED) < 0)
        fail_msg("%s", last_reason());
    CLEANUP_DOMAIN virDomainPtr domain = virDomainLookupByUUIDString(connection, uuid);
    assert_non_null(domain);
    assert_true((int)virDomainGetID(domain) > 0);
    assert_int_not_equal(virDomainGetID(domain), *run);
    *run = (int)virDomainGetID(domain);
    CLEANUP_FREE char *live = virDomainGetXMLDesc(domain, 0);
    assert_non_null(strstr(live, overlay));
    assert_non_null(strstr(live, golden));
    assert_non_null(strstr(live, lease));
    return genid_of(live);
}

/*
 * A guest saved without relabelling: the file is root's, with mode 0600 from the start, and a restore leaves
 * its owner and its ctime alone, so that it can be known again. Another disk path, a longer chain and other
 * metadata may be given, under the same name and UUID; each restore has a genid and a domain id of its own;
 * another UUID is refused.
 */
static void a_saved_guest_is_restored_twice(void **state)
{
    const struct files *files = *state;
    CLEANUP_FREE char *saved_path = file_join(files->folder, "guest.state");
    CLEANUP_FREE char *golden = file_join(files->folder, "golden.qcow2");
    CLEANUP_FREE char *backing = on(files->base, "<backingStore/>");
    CLEANUP_FREE char *name = fresh_name();
    char uuid[VIR_UUID_STRING_BUFLEN];
    int run;
    give_to_own_uid(files->overlay);
    CLEANUP_FREE char *xml = own_uid_xml(files, name, OWN_UID, files->overlay, backing);
    {
        CLEANUP_DOMAIN virDomainPtr domain = start(xml, VIR_DOMAIN_START_VALIDATE);
        assert_non_null(domain);
        assert_int_equal(virDomainGetUUIDString(domain, uuid), 0);
        run = (int)virDomainGetID(domain);
        if (virDomainSaveFlags(domain, saved_path, NULL, VIR_DOMAIN_SAVE_RUNNING) < 0)
            fail_msg("%s", last_reason());
        assert_null(virDomainLookupByName(connection, name));
    }
    struct stat saved;
    assert_int_equal(stat(saved_path, &saved), 0);
    assert_int_equal(saved.st_uid, 0);
    assert_int_equal(saved.st_mode & 07777, 0600);

    assert_int_equal(rename(files->overlay, golden) | chown(golden, 0, (gid_t)-1) | chmod(golden, 0444), 0);
    CLEANUP_FREE char *described =
        virDomainSaveImageGetXMLDesc(connection, saved_path, VIR_DOMAIN_SAVE_IMAGE_XML_SECURE);
    assert_non_null(described);
    CLEANUP_FREE char *other_uuid = replaced(described, uuid, "be274055-0000-5000-8000-000000000002");
    assert_int_equal(virDomainRestoreFlags(connection, saved_path, other_uuid, VIR_DOMAIN_SAVE_PAUSED), -1);
    CLEANUP_FREE char *first = restore_once(files, saved_path, described, golden, uuid, "l_2", &run);
    CLEANUP_FREE char *second = restore_once(files, saved_path, described, golden, uuid, "l_3", &run);
    assert_string_not_equal(first, second);
    assert_untouched(saved_path, &saved);
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
        cmocka_unit_test(a_run_has_an_id_of_its_own),
        cmocka_unit_test_setup_teardown(without_relabelling_files_keep_their_owner, make_files, remove_files),
        cmocka_unit_test(qemu_is_confined),
        cmocka_unit_test_setup_teardown(a_uid_of_its_own, make_files, remove_files),
        cmocka_unit_test_setup_teardown(a_saved_guest_is_restored_twice, make_files, remove_files),
    };
    return cmocka_run_group_tests(tests, connect_once, disconnect);
}
