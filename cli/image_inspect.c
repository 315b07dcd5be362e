/* berth image inspect: what an image is, as its manifest says, once it is verified. */
#include <inttypes.h>

#include "command.h"
#include "image_arguments.h"
#include "layout.h"

static void print_image(const struct image *image)
{
    CLEANUP_FREE char *disk = layout_size(image->parts[IMAGE_DISK].size_bytes);
    CLEANUP_FREE char *grown = layout_size(image->virtual_size_bytes);
    terminal_text("image", image->name);
    terminal_text("created", image->created);
    terminal_text("digest", image->manifest_sha256);
    terminal_row("disk", "%s, as a disk %s", disk, grown);
    terminal_row("display", "%" PRIu32 "x%" PRIu32, image->display_width, image->display_height);
    terminal_text("cmdline", image->cmdline);
    const char *key;
    json_t *value;
    json_object_foreach(image->labels, key, value)
    {
        terminal_row("label", "%s = %s", key, json_string_value(value));
    }
    terminal_text("input helper",
                  image->input_helper ? "yes" : "no: ASCII only, no side buttons, no horizontal wheel");
    terminal_text("for tests", image->test_only ? "yes: public intent refuses it" : NULL);
}

static int run_image_inspect(struct session *none, const void *arguments, struct error *err)
{
    (void)none;
    const struct image_arguments *given = arguments;
    CLEANUP_IMAGE struct image *image = image_arguments_open(given, err);
    if (!image)
        return -1;
    if (given->common.json)
        return terminal_document(image->manifest);
    print_image(image);
    return EXIT_DONE;
}

const struct command command_image_inspect = {
    "image",
    "inspect",
    "Print what an image is",
    .usage = {.takes = TAKES_JSON,
              .rows = image_arguments_rows,
              .size = sizeof(struct image_arguments),
              .help = "Print what an image is; with --json its whole manifest. It is verified first. "
                      "Without NAME it is the image of node.toml.",
              .examples = "berth image inspect\n"
                          "berth image inspect --json | jq .labels"},
    .run = run_image_inspect,
};
