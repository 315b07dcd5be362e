/*
 * ctl: the command line of the test guest, for guest-exec. What needs init goes over its socket; what any
 * process can do is done here.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

enum { SECONDS_MAX = 3600, FIND_DEPTH = 16 };

/* How long the agent has for carrying out the answer to `agent`. */
enum { AGENT_GRACE_MS = 300 };

static int complain(const char *what)
{
    fprintf(stderr, "ctl: %s: %s\n", what, strerror(errno));
    return 1;
}

/* Sends the words to init as one line and prints its answer. */
static int ask_init(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = GUEST_CONTROL};
    char line[GUEST_LINE_MAX] = "", answer[GUEST_LINE_MAX + 1];
    size_t length = 0;
    ssize_t got;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    for (int i = 1; i < argc && length < sizeof(line); i++)
        length += (size_t)snprintf(line + length, sizeof(line) - length, "%s%s", argv[i],
                                   i + 1 < argc ? " " : "\n");
    if (length >= sizeof(line)) {
        errno = E2BIG;
        return complain("the command");
    }
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        write(fd, line, length) != (ssize_t)length)
        return complain(GUEST_CONTROL);
    length = 0;
    while ((got = read(fd, answer + length, GUEST_LINE_MAX - length)) > 0)
        length += (size_t)got;
    answer[length] = '\0';
    fputs(answer, stdout);
    return strncmp(answer, "{\"ok\":true", 10) == 0 ? 0 : 1;
}

/* cat PATH [OFFSET [LENGTH]] */
static int cat(int argc, char **argv)
{
    unsigned long long offset = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    unsigned long long left = argc > 4 ? strtoull(argv[4], NULL, 10) : ULLONG_MAX;
    int fd = open(argv[2], O_RDONLY | O_CLOEXEC);
    char buffer[65536];
    ssize_t got = 0;

    if (fd < 0 || (offset > 0 && lseek(fd, (off_t)offset, SEEK_SET) < 0))
        return complain(argv[2]);
    while (left > 0 && (got = read(fd, buffer, left < sizeof(buffer) ? left : sizeof(buffer))) > 0) {
        fwrite(buffer, 1, (size_t)got, stdout);
        left -= (unsigned long long)got;
    }
    return got < 0 ? complain(argv[2]) : 0;
}

/* One line about a path: type (as find -printf %y), mode, uid, gid, size, name. */
static void describe(const char *name, const struct stat *info)
{
    static const char types[] = {[S_IFREG >> 12] = 'f', [S_IFDIR >> 12] = 'd', [S_IFLNK >> 12] = 'l',
                                 [S_IFCHR >> 12] = 'c', [S_IFBLK >> 12] = 'b', [S_IFIFO >> 12] = 'p',
                                 [S_IFSOCK >> 12] = 's'};

    printf("%c %04o %u %u %lld %s\n", types[(info->st_mode & S_IFMT) >> 12], info->st_mode & 07777u,
           info->st_uid, info->st_gid, (long long)info->st_size, name);
}

static int ls(int argc, char **argv)
{
    struct dirent **entries;
    struct stat info;
    int count;

    (void)argc;
    if (lstat(argv[2], &info) < 0)
        return complain(argv[2]);
    if (!S_ISDIR(info.st_mode)) {
        describe(argv[2], &info);
        return 0;
    }
    count = scandir(argv[2], &entries, NULL, alphasort);
    if (count < 0)
        return complain(argv[2]);
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];

        if (strcmp(entries[i]->d_name, ".") == 0 || strcmp(entries[i]->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", argv[2], entries[i]->d_name);
        if (lstat(path, &info) == 0)
            describe(entries[i]->d_name, &info);
    }
    return 0;
}

static int found(const char *path, const struct stat *info, int flag, struct FTW *place)
{
    (void)place;
    if (flag != FTW_NS)
        describe(path, info);
    return 0;
}

/* find PATH: all below it, on the same file system. */
static int find(int argc, char **argv)
{
    (void)argc;
    return nftw(argv[2], found, FIND_DEPTH, FTW_PHYS | FTW_MOUNT) < 0 ? complain(argv[2]) : 0;
}

static int net(int argc, char **argv)
{
    struct dirent **entries;
    int count = scandir("/sys/class/net", &entries, NULL, alphasort);
    const char *separator = "";

    (void)argc, (void)argv;
    if (count < 0)
        return complain("/sys/class/net");
    printf("{\"ok\":true,\"interfaces\":[");
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] == '.')
            continue;
        printf("%s\"%s\"", separator, entries[i]->d_name);
        separator = ",";
    }
    printf("]}\n");
    return 0;
}

static int mounts(int argc, char **argv)
{
    char *words[] = {argv[0], argv[1], "/proc/self/mounts"};

    (void)argc;
    return cat(3, words);
}

/* The process that a file names; 0 when there is none. */
static pid_t read_pid(const char *path)
{
    FILE *file = fopen(path, "re");
    int pid = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%d", &pid) != 1 || pid <= 1)
        pid = 0;
    fclose(file);
    return pid;
}

static bool seconds_of(const char *word, unsigned *seconds)
{
    char *end;
    unsigned long value = strtoul(word, &end, 10);

    *seconds = (unsigned)value;
    return end != word && *end == '\0' && value <= SECONDS_MAX;
}

/* Lets go of the standard streams, on whose end guest-exec would wait. */
static void detach(void)
{
    int null_fd = open("/dev/null", O_RDWR);

    dup2(null_fd, STDIN_FILENO);
    dup2(null_fd, STDOUT_FILENO);
    dup2(null_fd, STDERR_FILENO);
}

/* agent stall SECONDS: the agent answers nothing for that long. agent end: it dies, and init starts it anew.
 * Both begin a moment later, so that the agent can still carry the answer out. */
static int agent(int argc, char **argv)
{
    bool stall = strcmp(argv[2], "stall") == 0;
    pid_t pid = read_pid(GUEST_AGENT), helper;
    unsigned seconds = 0;

    if (stall != (argc == 4) || (!stall && strcmp(argv[2], "end") != 0) ||
        (stall && !seconds_of(argv[3], &seconds))) {
        errno = EINVAL;
        return complain("agent");
    }
    helper = pid ? fork() : -1;
    if (helper < 0)
        return complain("the agent");
    if (helper == 0) {
        setsid();
        detach();
        usleep(AGENT_GRACE_MS * 1000);
        kill(pid, stall ? SIGSTOP : SIGKILL);
        sleep(seconds);
        if (stall)
            kill(pid, SIGCONT);
        _exit(0);
    }
    printf("{\"ok\":true,\"t_us\":%lld}\n", (long long)guest_now_us());
    return 0;
}

static void stop_busy(void)
{
    pid_t group = read_pid(GUEST_BUSY);

    if (group)
        kill(-group, SIGKILL);
    unlink(GUEST_BUSY);
}

/* The agent is bound to one CPU, and what it starts with it. */
static void move_to_cpu(long cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

/* Spins until the alarm kills it. */
static void spin(unsigned seconds)
{
    volatile unsigned turns = 0;

    signal(SIGALRM, SIG_DFL);
    alarm(seconds);
    for (;;)
        turns = turns + 1;
}

/* busy SECONDS: every CPU spins for that long, in the background; 0 stops it. */
static int busy(int argc, char **argv)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned seconds;
    pid_t group = 0;
    FILE *file;

    (void)argc;
    if (!seconds_of(argv[2], &seconds)) {
        errno = EINVAL;
        return complain("busy SECONDS");
    }
    stop_busy();
    for (long cpu = 0; cpu < cpus && seconds > 0; cpu++) {
        pid_t pid = fork();

        if (pid < 0)
            return complain("fork");
        if (pid == 0) {
            setpgid(0, group);
            detach();
            move_to_cpu(cpu);
            spin(seconds);
        }
        setpgid(pid, group);
        group = group ? group : pid;
    }
    if (group && (file = fopen(GUEST_BUSY, "we"))) {
        fprintf(file, "%d\n", group);
        fclose(file);
    }
    printf("{\"ok\":true,\"cpus\":%ld,\"seconds\":%u,\"t_us\":%lld}\n", cpus, seconds,
           (long long)guest_now_us());
    return 0;
}

/* helper normal | slow MS | deaf: how the input helper takes the next text. */
static int set_helper(int argc, char **argv)
{
    FILE *file;

    if (strcmp(argv[2], "normal") == 0 && argc == 3) {
        unlink(GUEST_HELPER);
    } else if ((strcmp(argv[2], "slow") == 0 && argc == 4) || (strcmp(argv[2], "deaf") == 0 && argc == 3)) {
        file = fopen(GUEST_HELPER, "we");
        if (!file)
            return complain(GUEST_HELPER);
        fprintf(file, "%s %s\n", argv[2], argc > 3 ? argv[3] : "0");
        fclose(file);
    } else {
        errno = EINVAL;
        return complain("helper");
    }
    printf("{\"ok\":true,\"t_us\":%lld}\n", (long long)guest_now_us());
    return 0;
}

int ctl_main(int argc, char **argv)
{
    static const struct {
        const char *name, *arguments;
        int least, most; /* words after the name */
        int (*run)(int argc, char **argv);
    } commands[] = {
        {"cat", "PATH [OFFSET [LENGTH]]", 1, 3, cat},
        {"ls", "PATH", 1, 1, ls},
        {"find", "PATH", 1, 1, find},
        {"net", "", 0, 0, net},
        {"mounts", "", 0, 0, mounts},
        {"busy", "SECONDS", 1, 1, busy},
        {"agent", "stall SECONDS | end", 1, 2, agent},
        {"helper", "normal | slow MS | deaf", 1, 2, set_helper},
    };

    if (argc < 2) {
        fprintf(stderr, "usage: ctl COMMAND [ARGUMENT...]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        if (argc - 2 < commands[i].least || argc - 2 > commands[i].most) {
            fprintf(stderr, "usage: ctl %s %s\n", commands[i].name, commands[i].arguments);
            return 2;
        }
        return commands[i].run(argc, argv);
    }
    return ask_init(argc, argv);
}
