/* berth image build: a thin front for vmimage/build.sh, which becomes this process. */
#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "command.h"
#include "image_arguments.h"

static int run_image_build(struct session *none, const void *arguments, struct error *err)
{
    (void)none;
    const struct image_arguments *given = arguments;
    CLEANUP_FREE char *dir = image_arguments_dir(given, err);
    CLEANUP_FREE char *script = dir ? file_shared("vmimage/build.sh", err) : NULL;
    if (!script)
        return -1;
    CLEANUP_FREE char *name = text_copy(given->name ? given->name : "berthos-linux-desktop:v1");
    CLEANUP_FREE char *option = text_copy("--dir");
    char *const line[] = {script, option, dir, name, NULL};
    execv(script, line);
    return error_set_errno(err, ERROR_INTERNAL, errno, "cannot run the image builder %s", script);
}

const struct command command_image_build = {
    "image",
    "build",
    "Build a guest image",
    .usage = {.rows = image_arguments_rows,
              .size = sizeof(struct image_arguments),
              .help = "Build a guest image: berthos-linux-desktop:v1 or, from a source tree, "
                      "berthos-test-guest:v1 for tests. "
                      "Needs root. "
                      "What it does is told on stderr; "
                      "the sha256 of the manifest, which image_digest of node.toml pins, goes to stdout.",
              .examples = "berth image build\n"
                          "berth image build --dir /srv/images"},
    .run = run_image_build,
};
