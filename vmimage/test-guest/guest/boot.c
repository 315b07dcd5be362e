#include "boot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/kd.h>

#include "guest.h"

#ifndef K_OFF
#define K_OFF 0x04
#endif

#define AGENT_PORT "org.qemu.guest_agent.0"

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        guest_say("%s cannot be written: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
}

/* Neither the kernel's console nor its keyboard handler (Ctrl+Alt+Del, SysRq, Alt+F2) may act on what a test
 * types or draw over what it looks at. */
static void silence_console(void)
{
    int fd = open("/dev/tty0", O_RDWR | O_CLOEXEC);

    reboot(RB_DISABLE_CAD);
    signal(SIGINT, SIG_IGN);
    write_file("/proc/sys/kernel/sysrq", "0");
    if (fd < 0)
        return;
    ioctl(fd, KDSETMODE, KD_GRAPHICS);
    ioctl(fd, KDSKBMODE, K_OFF);
    close(fd);
}

int boot_mounts(void)
{
    static const struct {
        const char *type, *path, *options;
    } mounts[] = {
        {"proc", "/proc", NULL},
        {"sysfs", "/sys", NULL},
        {"devtmpfs", "/dev", NULL},
        {"tmpfs", "/run", "mode=0755,size=64m"},
    };

    for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
        mkdir(mounts[i].path, 0755);
        if (mount(mounts[i].type, mounts[i].path, mounts[i].type, 0, mounts[i].options) < 0 && errno != EBUSY)
            return -1;
    }
    silence_console();
    return mkdir(GUEST_FOLDER, 0755);
}

struct boot_wishes boot_wishes(void)
{
    struct boot_wishes wishes = {.paint = 1, .seed = 1};
    const struct {
        const char *key;
        int64_t *value;
    } keys[] = {
        {"agent_delay_ms", &wishes.agent_delay_ms},
        {"paint", &wishes.paint},
        {"seed", &wishes.seed},
        {"poweroff", &wishes.poweroff},
        {"panic", &wishes.panic},
    };
    char line[4096] = "", *rest = line, *word;
    FILE *file = fopen("/proc/cmdline", "re");

    if (!file)
        return wishes;
    if (!fgets(line, sizeof(line), file))
        line[0] = '\0';
    fclose(file);
    while ((word = strsep(&rest, " \n"))) {
        char *value = strchr(word, '=');

        if (!value || strncmp(word, "test_guest.", 11) != 0)
            continue;
        *value++ = '\0';
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
            if (strcmp(word + 11, keys[i].key) == 0)
                *keys[i].value = strtoll(value, NULL, 10);
    }
    return wishes;
}

void boot_modules(const char *list)
{
    FILE *file = fopen(list, "re");
    char line[PATH_MAX];

    if (!file) {
        guest_say("%s cannot be read: %s", list, strerror(errno));
        return;
    }
    while (fgets(line, sizeof(line), file)) {
        char *parameters = line, *path;
        int fd;

        line[strcspn(line, "\n")] = '\0';
        path = strsep(&parameters, " ");
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || (syscall(SYS_finit_module, fd, parameters ? parameters : "", 0) < 0 && errno != EEXIST))
            guest_say("%s cannot be loaded: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
    }
    fclose(file);
}

/* The node of the agent's port: there is no udev to make /dev/virtio-ports. */
static bool find_agent_port(char *node, size_t size)
{
    DIR *ports = opendir("/sys/class/virtio-ports");
    struct dirent *port;
    bool found = false;

    while (ports && !found && (port = readdir(ports))) {
        char path[PATH_MAX], name[64] = "";
        int fd;

        if (port->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", port->d_name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        found = read(fd, name, sizeof(name) - 1) > 0 && strncmp(name, AGENT_PORT, strlen(AGENT_PORT)) == 0;
        close(fd);
        snprintf(node, size, "/dev/%s", port->d_name);
    }
    if (ports)
        closedir(ports);
    return found;
}

static void note_pid(const char *path)
{
    FILE *file = fopen(path, "we");

    if (!file)
        return;
    fprintf(file, "%d\n", getpid());
    fclose(file);
}

/* On the CPU that takes the devices' interrupts (irqaffinity=0): before the agent can answer, everything that
 * the devices had to say before its command has been taken in. docs/IMAGE.md says what for. */
static void move_to_first_cpu(void)
{
    cpu_set_t first;

    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof(first), &first);
}

pid_t boot_agent(int64_t delay_ms)
{
    char node[PATH_MAX];
    sigset_t none;
    pid_t pid = fork();
    int log;

    if (pid != 0)
        return pid;
    setsid();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL);
    usleep((useconds_t)(delay_ms * 1000));
    while (!find_agent_port(node, sizeof(node)))
        usleep(2000);
    log = open(GUEST_FOLDER "/agent.log", O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    note_pid(GUEST_AGENT);
    move_to_first_cpu();
    execl("/usr/sbin/qemu-ga", "qemu-ga", "--method=virtio-serial", "--path", node, "--statedir=/run", NULL);
    _exit(127);
}

void boot_end(enum boot_end end)
{
    sync();
    switch (end) {
    case BOOT_POWEROFF:
        reboot(RB_POWER_OFF);
        break;
    case BOOT_REBOOT:
        reboot(RB_AUTOBOOT);
        break;
    case BOOT_PANIC:
        write_file("/proc/sysrq-trigger", "c");
        break;
    }
    guest_say("the kernel refused to end the guest: %s", strerror(errno));
}
