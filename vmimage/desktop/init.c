/*
 * The initramfs of the desktop guest: one static program, no shell.
 *
 * It loads the modules that the root file system needs, mounts it, gives this boot a machine id of its own
 * and becomes systemd. A child loads the rest (display, input, agent port) meanwhile: systemd needs a second
 * before it asks for any of them. No module is loaded after that; the guest has none on its disk.
 *
 * /modules/root and /modules/rest name the files of /modules, one a line, in an order in which they load.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROOT_DEVICE "/dev/vda"
/* The disk is thrown away with the lease, so nothing is won by flushing it (barrier=0) or by writing when a
 * file was read. */
#define ROOT_OPTIONS "barrier=0,noinit_itable"
#define ROOT_WAIT_MS 10000

/* Says why on the console, which the node logs, and ends: the kernel panics and pvpanic tells the host. */
static _Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

static _Noreturn void give_up(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("berthos: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

/* Loads one module file of /modules. A device that is not there is no error; a module that does not fit is
 * said. */
static void load_module(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "/modules/%s", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) != 0 && errno != EEXIST && errno != ENODEV))
        fprintf(stderr, "berthos: module %s: %s\n", name, strerror(errno));
    if (fd >= 0)
        close(fd);
    unlink(path); /* the initramfs stays in memory as long as the guest lives */
}

static void load_modules(const char *list)
{
    char line[200];
    FILE *file = fopen(list, "re");
    if (file == NULL)
        give_up("%s: %s", list, strerror(errno));
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0')
            load_module(line);
    }
    fclose(file);
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0444);
    size_t length = strlen(text);
    if (fd < 0 || write(fd, text, length) != (ssize_t)length)
        fprintf(stderr, "berthos: %s: %s\n", path, strerror(errno));
    if (fd >= 0)
        close(fd);
}

/* In the background: the devices of the desktop. Afterwards the kernel takes no module any more. */
static void load_rest(void)
{
    fflush(stderr);
    pid_t child = fork();
    if (child < 0)
        give_up("fork: %s", strerror(errno));
    if (child > 0)
        return;
    /* Open before the parent takes /proc away. */
    int lock = open("/proc/sys/kernel/modules_disabled", O_WRONLY | O_CLOEXEC);
    load_modules("/modules/rest");
    if (lock < 0 || write(lock, "1\n", 2) != 2)
        fprintf(stderr, "berthos: modules_disabled: %s\n", strerror(errno));
    _exit(0);
}

static void mount_root(void)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    for (int waited_ms = 0; access(ROOT_DEVICE, F_OK) != 0; waited_ms += 5) {
        if (waited_ms >= ROOT_WAIT_MS)
            give_up("there is no disk %s", ROOT_DEVICE);
        nanosleep(&pause, NULL);
    }
    if (mount(ROOT_DEVICE, "/root", "ext4", MS_NOATIME, ROOT_OPTIONS) != 0)
        give_up("cannot mount %s: %s", ROOT_DEVICE, strerror(errno));
}

/*
 * systemd would take the domain's UUID for the machine id under KVM, and that one is the same for every lease
 * of a berth. The image's file is empty; what is written here lives as long as this guest's overlay.
 */
static void make_machine_id(void)
{
    unsigned char bytes[16];
    char text[2 * sizeof bytes + 2] = "";
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        give_up("getrandom: %s", strerror(errno));
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40); /* machine-id(5) wants a version 4 UUID */
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    strcat(text, "\n");
    write_file("/root/etc/machine-id", text);
}

int main(void)
{
    mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=0755");
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    load_modules("/modules/root");
    load_rest();
    mount_root();
    make_machine_id();
    /* systemd mounts /proc and /sys itself; /dev goes along so that nothing made there is lost. */
    mount("/dev", "/root/dev", NULL, MS_MOVE, NULL);
    mount("/proc", "/root/proc", NULL, MS_MOVE, NULL);
    if (chdir("/root") != 0 || mount(".", "/", NULL, MS_MOVE, NULL) != 0 || chroot(".") != 0 ||
        chdir("/") != 0)
        give_up("cannot enter the root file system: %s", strerror(errno));
    execl("/lib/systemd/systemd", "/sbin/init", (char *)NULL);
    give_up("cannot start systemd: %s", strerror(errno));
}
