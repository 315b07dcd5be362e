/* berth image inspect: what an image is, as its manifest says, once it is verified. */
#include <inttypes.h>
#include <stdio.h>

#include "base/document.h"
#include "base/text.h"
#include "command.h"
#include "image_arguments.h"
#include "layout.h"

static const struct argp_option options[] = {HELP_DIR, HELP_JSON, {0}};

static const struct argp usage = {
    .options = options,
    .parser = image_arguments_parse,
    .args_doc = "[NAME]",
    .doc = "Print what an image is; with --json its whole manifest. It is verified first. Without NAME it is "
           "the image "
           "of node.toml."
           "\v" HELP_EXIT "\n\n"
           "Examples:\n"
           "  berth image inspect\n"
           "  berth image inspect --json | jq .labels\n",
};

static void print(const struct image *image)
{
    CLEANUP_FREE char *disk = layout_size(image->parts[IMAGE_DISK].size_bytes);
    CLEANUP_FREE char *grown = layout_size(image->virtual_size_bytes);
    CLEANUP_FREE char *disk_row = text_format("%s, as a disk %s", disk, grown);
    CLEANUP_FREE char *display =
        text_format("%" PRIu32 "x%" PRIu32, image->display_width, image->display_height);
    terminal_row("image", image->name);
    terminal_row("created", image->created);
    terminal_row("digest", image->manifest_sha256);
    terminal_row("disk", disk_row);
    terminal_row("display", display);
    terminal_row("cmdline", image->cmdline);
    const char *key;
    json_t *value;
    json_object_foreach(image->labels, key, value)
    {
        CLEANUP_FREE char *label = text_format("%s = %s", key, json_string_value(value));
        terminal_row("label", label);
    }
    terminal_row("input helper",
                 image->input_helper ? "yes" : "no: ASCII only, no side buttons, no horizontal wheel");
    terminal_row("for tests", image->test_only ? "yes: public intent refuses it" : NULL);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct image_arguments arguments = {0};
    command_parse(command, argc, argv, &arguments);
    CLEANUP_IMAGE struct image *image = image_arguments_open(&arguments, &err);
    if (!image)
        return terminal_fail(&err);
    if (arguments.json)
        return terminal_document(image->manifest);
    print(image);
    return EXIT_DONE;
}

const struct command command_image_inspect = {"image", "inspect", "Print what an image is", &usage, run};
