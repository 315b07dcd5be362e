/* `berth`: finds the command and runs it. What it wrote must have arrived, else the command has failed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "terminal.h"

int main(int argc, char **argv)
{
    int code = commands_dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        terminal_say("berth: cannot write to stdout: %s", strerror(errno));
        return code == EXIT_DONE ? EXIT_REFUSED : code;
    }
    return code;
}
