/* berth image build: a thin front for vmimage/build.sh, which becomes this process. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "command.h"
#include "image_arguments.h"

static const struct argp_option options[] = {HELP_DIR, {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    return key == OPTION_JSON ? ARGP_ERR_UNKNOWN : image_arguments_parse(key, arg, state);
}

static const struct argp usage = {
    .options = options,
    .parser = parse,
    .args_doc = "[NAME]",
    .doc =
        "Build a guest image: berthos-linux-desktop:v1, or berthos-test-guest:v1 for tests. Needs root. What "
        "it does "
        "is told on stderr; the sha256 of the manifest, which image_digest of node.toml pins, goes to stdout."
        "\v" HELP_EXIT "\n\n"
        "Examples:\n"
        "  berth image build\n"
        "  berth image build --dir /srv/images berthos-test-guest:v1\n",
};

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct image_arguments arguments = {0};
    command_parse(command, argc, argv, &arguments);
    CLEANUP_FREE char *dir = image_arguments_dir(&arguments, &err);
    CLEANUP_FREE char *script = dir ? file_shared("vmimage/build.sh", &err) : NULL;
    if (!script)
        return terminal_fail(&err);
    CLEANUP_FREE char *name = text_copy(arguments.name ? arguments.name : "berthos-linux-desktop:v1");
    CLEANUP_FREE char *option = text_copy("--dir");
    char *const line[] = {script, option, dir, name, NULL};
    execv(script, line);
    error_set_errno(&err, ERROR_INTERNAL, errno, "cannot run the image builder %s", script);
    return terminal_fail(&err);
}

const struct command command_image_build = {"image", "build", "Build a guest image", &usage, run};
