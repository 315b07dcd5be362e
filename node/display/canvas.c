#include "display/canvas.h"

#include <stdlib.h>
#include <string.h>

#include "display/region.h"

#define COLOUR 0xffffffu

uint32_t canvas_cells_across(uint32_t width)
{
    return (width + CELL_WIDTH - 1) / CELL_WIDTH;
}

bool canvas_resize(struct canvas *canvas, uint32_t width, uint32_t height)
{
    canvas_clear(canvas);
    size_t across = canvas_cells_across(width), cells = across * height;
    canvas->width = width;
    canvas->height = height;
    canvas->missing = malloc(cells);
    canvas->line = calloc(across, CELL_WIDTH * sizeof(uint32_t));
    /* As wide as whole cells: the library's own decoders know no narrower screen (rfb_client.c). */
    canvas->pixels = calloc(cells * CELL_WIDTH, sizeof(uint32_t));
    if (!canvas->missing || !canvas->pixels || !canvas->line)
        return false;
    memset(canvas->missing, 1, cells);
    canvas->missing_count = cells;
    return true;
}

void canvas_clear(struct canvas *canvas)
{
    free(canvas->pixels);
    free(canvas->missing);
    free(canvas->line);
    *canvas = (struct canvas){.pixels = NULL};
}

void canvas_settle(struct canvas *canvas)
{
    canvas->box_count = 0;
}

static int64_t union_waste(struct action_region a, struct action_region b)
{
    return region_area(region_union(a, b)) - region_area(a) - region_area(b);
}

/* Adds a rectangle that differs: to one that it completes, else as one more, else where it wastes least. */
static void add_box(struct canvas *canvas, struct action_region box)
{
    size_t best = 0;
    for (size_t i = 1; i < canvas->box_count; i++)
        if (union_waste(canvas->boxes[i], box) < union_waste(canvas->boxes[best], box))
            best = i;
    if (canvas->box_count > 0 &&
        (union_waste(canvas->boxes[best], box) <= 0 || canvas->box_count == CANVAS_BOXES))
        canvas->boxes[best] = region_union(canvas->boxes[best], box);
    else
        canvas->boxes[canvas->box_count++] = box;
}

/* Strikes off the cells that a rectangle covers whole. */
static void strike_cells(struct canvas *canvas, uint32_t x, uint32_t y, uint32_t w, uint32_t h)
{
    uint32_t across = canvas_cells_across(canvas->width);
    uint32_t first = canvas_cells_across(x);
    uint32_t last = x + w == canvas->width ? across : (x + w) / CELL_WIDTH;
    for (uint32_t row = y; row < y + h; row++)
        for (uint32_t cell = first; cell < last; cell++) {
            unsigned char *slot = &canvas->missing[(size_t)row * across + cell];
            canvas->missing_count -= *slot;
            *slot = 0;
        }
    if (canvas->missing_count > 0)
        return;
    free(canvas->missing);
    canvas->missing = NULL;
    canvas->boxes[0] = region_whole(canvas->width, canvas->height); /* all is new */
    canvas->box_count = 1;
}

/* Whether a row has other colours; written so that compilers make vectors of it. */
static bool row_differs(const uint32_t *restrict to, const uint32_t *restrict from, uint32_t count)
{
    uint32_t difference = 0;
    for (uint32_t i = 0; i < count; i++)
        difference |= to[i] ^ from[i];
    return difference & COLOUR;
}

static void copy_row(uint32_t *restrict to, const uint32_t *restrict from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = from[i] & COLOUR;
}

/* Puts a row; what differs of it is *first to *last. False when nothing does. */
static bool put_row(uint32_t *to, const uint32_t *from, uint32_t count, uint32_t *first, uint32_t *last)
{
    if (!row_differs(to, from, count))
        return false;
    *first = 0;
    *last = count - 1;
    while (((to[*first] ^ from[*first]) & COLOUR) == 0)
        ++*first;
    while (((to[*last] ^ from[*last]) & COLOUR) == 0)
        --*last;
    copy_row(to + *first, from + *first, *last - *first + 1);
    return true;
}

void canvas_put(struct canvas *canvas, const uint8_t *raw, uint32_t x, uint32_t y, uint32_t w, uint32_t h)
{
    uint32_t *line = canvas->line;
    struct action_region run = {0};
    for (uint32_t row = 0; row < h; row++) {
        uint32_t first, last;
        memcpy(line, raw + (size_t)row * w * sizeof *line, w * sizeof *line);
        if (put_row(canvas->pixels + (size_t)(y + row) * canvas->width + x, line, w, &first, &last)) {
            struct action_region differs = {(int32_t)(x + first), (int32_t)(y + row),
                                            (int32_t)(last - first + 1), 1};
            run = run.height > 0 ? region_union(run, differs) : differs;
        } else if (run.height > 0) {
            add_box(canvas, run);
            run.height = 0;
        }
    }
    if (run.height > 0)
        add_box(canvas, run);
    if (canvas->missing)
        strike_cells(canvas, x, y, w, h);
}

void canvas_copy(const struct canvas *canvas, struct action_region region, struct frame *frame)
{
    for (int32_t y = region.y; y < region.y + region.height; y++) {
        size_t at = (size_t)y * canvas->width + (size_t)region.x;
        memcpy(frame->pixels + at, canvas->pixels + at, (size_t)region.width * sizeof(uint32_t));
    }
}
