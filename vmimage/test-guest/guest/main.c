/* One static program under several names: init, ctl, and what the guest agent calls. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

void guest_say(const char *format, ...)
{
    char text[GUEST_LINE_MAX];
    va_list arguments;
    int64_t now_us = guest_now_us();

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    dprintf(STDERR_FILENO, "test guest [%lld.%03lld]: %s\n", (long long)(now_us / 1000000),
            (long long)(now_us / 1000 % 1000), text);
}

/* shutdown, as guest-shutdown calls it: `shutdown -h -P +0` or -r or -H. */
static int shutdown_main(int argc, char **argv)
{
    char *command[] = {"ctl", "poweroff", "0", NULL};

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-r") == 0)
            command[1] = "reboot";
    return ctl_main(3, command);
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash ? slash + 1 : argv[0];

    if (strcmp(name, "ctl") == 0)
        return ctl_main(argc, argv);
    if (strcmp(name, "hands") == 0)
        return helper_main(argc, argv);
    if (strcmp(name, "shutdown") == 0)
        return shutdown_main(argc, argv);
    /* guest-set-time sets the clock itself and then wants it written to the hardware. A guest of ours has no
     * use for that: the host's clock is given to it at every start. */
    if (strcmp(name, "hwclock") == 0)
        return 0;
    return init_main();
}
