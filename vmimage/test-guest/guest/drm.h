/*
 * The display: one connector, one CRTC, one dumb buffer that is shown, through the kernel's DRM ioctls
 * (include/uapi/drm/drm_mode.h). With virtio-gpu the host sees pixels only when they are flushed, so a
 * picture never appears half drawn.
 */
#ifndef TEST_GUEST_DRM_H
#define TEST_GUEST_DRM_H

#include <stdbool.h>
#include <stdint.h>

struct display {
    int fd;
    uint32_t connector_id, crtc_id;
    uint32_t width, height; /* pixels */
    uint32_t stride_bytes;  /* of one row */
    uint32_t buffer_handle, framebuffer_id;
    uint64_t size_bytes;
    uint8_t *pixels; /* mapped; 32 bits a pixel, 0x00RRGGBB little-endian */
};

/* Draws what a new buffer shall show before it is shown. */
typedef void display_draw(const struct display *display, void *context);

/* Opens the first card; the connector's preferred size goes into *display, nothing is shown yet. 0, or -1
 * with errno. */
int display_open(struct display *display);

/* Shows a buffer of this size in place of the present one, drawn by `draw` (NULL leaves it black). 0, or -1
 * with errno and nothing changed. */
int display_show(struct display *display, uint32_t width, uint32_t height, display_draw *draw, void *context);

/* Row y of the buffer, display->width pixels. */
static inline uint32_t *display_row(const struct display *display, uint32_t y)
{
    return (uint32_t *)(void *)(display->pixels + (uint64_t)y * display->stride_bytes);
}

/* Sends a rectangle that lies within the display to the host. 0, or -1 with errno. */
int display_flush(const struct display *display, uint32_t x, uint32_t y, uint32_t width, uint32_t height);

#endif
