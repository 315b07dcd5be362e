/* berth image verify: is every byte of an image what its manifest says? */
#include <stdio.h>

#include "base/document.h"
#include "command.h"
#include "image_arguments.h"
#include "layout.h"

static const char *const kinds[IMAGE_FILE_COUNT] = {
    [IMAGE_DISK] = "disk", [IMAGE_KERNEL] = "kernel", [IMAGE_INITRD] = "initrd"};

static json_t *describe_files(const struct image *image)
{
    json_t *files = json_object();
    for (int i = 0; i < IMAGE_FILE_COUNT; i++)
        json_object_set_new(files, kinds[i],
                            json_pack("{s:s, s:s, s:I}", "path", image->parts[i].path, "sha256",
                                      image->parts[i].sha256, "size",
                                      (json_int_t)image->parts[i].size_bytes));
    return json_pack("{s:b, s:s, s:s, s:s, s:o}", "ok", 1, "name", image->name, "manifest",
                     image->manifest_path, "manifest_sha256", image->manifest_sha256, "files", files);
}

static void print_verdict(const struct image *image)
{
    terminal_text("image", image->name);
    terminal_text("manifest", image->manifest_path);
    terminal_text("digest", image->manifest_sha256);
    for (int i = 0; i < IMAGE_FILE_COUNT; i++) {
        CLEANUP_FREE char *size = layout_size(image->parts[i].size_bytes);
        terminal_row(kinds[i], "%s, %s", image->parts[i].path, size);
    }
    printf("%-10s  ", "verdict");
    terminal_paint(COLOUR_GREEN, "ok");
    fputs("\n", stdout);
}

static int run_image_verify(struct session *none, const void *arguments, struct error *err)
{
    (void)none;
    const struct image_arguments *given = arguments;
    CLEANUP_IMAGE struct image *image = image_arguments_open(given, err);
    if (!image)
        return -1;
    if (given->common.json) {
        CLEANUP_JSON json_t *document = describe_files(image);
        return terminal_document(document);
    }
    print_verdict(image);
    return EXIT_DONE;
}

const struct command command_image_verify = {
    "image",
    "verify",
    "Check an image byte for byte",
    .usage = {.takes = TAKES_JSON,
              .rows = image_arguments_rows,
              .size = sizeof(struct image_arguments),
              .help =
                  "Check an image: its manifest and labels, the pinned digest, the sha256, size and owner of "
                  "each file, the header of its disk. "
                  "Nothing is taken from an earlier check. Without NAME it is the image of node.toml.",
              .examples = "berth image verify\n"
                          "berth image verify --dir /srv/images berthos-test-guest:v1"},
    .run = run_image_verify,
};
