#include "drm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm.h>
#include <drm_mode.h>

enum { CONNECTORS_MAX = 8, CRTCS_MAX = 8, MODES_MAX = 128, CONNECTED = 1 };

static int card_ioctl(int fd, unsigned long request, void *argument)
{
    int result;

    do
        result = ioctl(fd, request, argument);
    while (result < 0 && (errno == EINTR || errno == EAGAIN));
    return result;
}

/* Finds a connected connector; its preferred size goes to the display. */
static int find_connector(struct display *display, const uint32_t *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct drm_mode_modeinfo modes[MODES_MAX];
        struct drm_mode_get_connector connector = {.connector_id = ids[i]};

        memset(modes, 0, sizeof(modes));
        /* The first call, without room, makes the kernel probe; the second fetches. */
        if (card_ioctl(display->fd, DRM_IOCTL_MODE_GETCONNECTOR, &connector) < 0)
            return -1;
        if (connector.connection != CONNECTED || connector.count_modes == 0 ||
            connector.count_modes > MODES_MAX)
            continue;
        connector = (struct drm_mode_get_connector){
            .connector_id = ids[i], .count_modes = connector.count_modes, .modes_ptr = (uintptr_t)modes};
        if (card_ioctl(display->fd, DRM_IOCTL_MODE_GETCONNECTOR, &connector) < 0)
            return -1;
        display->connector_id = ids[i];
        display->width = modes[0].hdisplay;
        display->height = modes[0].vdisplay;
        for (uint32_t mode = 0; mode < connector.count_modes && mode < MODES_MAX; mode++) {
            if (modes[mode].type & DRM_MODE_TYPE_PREFERRED) {
                display->width = modes[mode].hdisplay;
                display->height = modes[mode].vdisplay;
                break;
            }
        }
        return 0;
    }
    errno = ENODEV;
    return -1;
}

/* A mode of this size at about 60 Hz. A virtual display has no timing; the numbers only have to be sane. */
static struct drm_mode_modeinfo make_mode(uint32_t width, uint32_t height)
{
    struct drm_mode_modeinfo mode = {
        .hdisplay = (uint16_t)width,
        .hsync_start = (uint16_t)(width + 48),
        .hsync_end = (uint16_t)(width + 80),
        .htotal = (uint16_t)(width + 160),
        .vdisplay = (uint16_t)height,
        .vsync_start = (uint16_t)(height + 3),
        .vsync_end = (uint16_t)(height + 9),
        .vtotal = (uint16_t)(height + 23),
        .vrefresh = 60,
        .type = DRM_MODE_TYPE_USERDEF,
    };

    mode.clock = (uint32_t)mode.htotal * mode.vtotal * 60 / 1000;
    snprintf(mode.name, sizeof(mode.name), "%ux%u", width, height);
    return mode;
}

/* Unmaps and frees what make_buffer() made; zeros are fine. */
static void drop_buffer(int fd, uint8_t *pixels, uint64_t size_bytes, uint32_t framebuffer_id,
                        uint32_t handle)
{
    struct drm_mode_destroy_dumb destroy = {.handle = handle};

    if (pixels)
        munmap(pixels, size_bytes);
    if (framebuffer_id)
        card_ioctl(fd, DRM_IOCTL_MODE_RMFB, &framebuffer_id);
    if (handle)
        card_ioctl(fd, DRM_IOCTL_MODE_DESTROY_DUMB, &destroy);
}

/* Fills in buffer, framebuffer and mapping for display->width x height. */
static int make_buffer(struct display *display)
{
    struct drm_mode_create_dumb create = {.width = display->width, .height = display->height, .bpp = 32};
    struct drm_mode_fb_cmd framebuffer = {
        .width = display->width, .height = display->height, .bpp = 32, .depth = 24};
    struct drm_mode_map_dumb map = {0};
    void *pixels;

    if (card_ioctl(display->fd, DRM_IOCTL_MODE_CREATE_DUMB, &create) < 0)
        return -1;
    display->buffer_handle = create.handle;
    display->stride_bytes = create.pitch;
    display->size_bytes = create.size;
    framebuffer.handle = map.handle = create.handle;
    framebuffer.pitch = create.pitch;
    if (card_ioctl(display->fd, DRM_IOCTL_MODE_ADDFB, &framebuffer) < 0)
        return -1;
    display->framebuffer_id = framebuffer.fb_id;
    if (card_ioctl(display->fd, DRM_IOCTL_MODE_MAP_DUMB, &map) < 0)
        return -1;
    pixels = mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, display->fd,
                  (off_t)map.offset);
    if (pixels == MAP_FAILED)
        return -1;
    display->pixels = pixels;
    return 0;
}

int display_show(struct display *display, uint32_t width, uint32_t height, display_draw *draw, void *context)
{
    struct display next = {.fd = display->fd,
                           .connector_id = display->connector_id,
                           .crtc_id = display->crtc_id,
                           .width = width,
                           .height = height};
    struct drm_mode_crtc crtc = {.set_connectors_ptr = (uintptr_t)&next.connector_id,
                                 .count_connectors = 1,
                                 .crtc_id = next.crtc_id,
                                 .mode_valid = 1,
                                 .mode = make_mode(width, height)};
    bool shown = make_buffer(&next) == 0;
    int reason;

    if (shown) {
        if (draw)
            draw(&next, context);
        crtc.fb_id = next.framebuffer_id;
        shown = card_ioctl(next.fd, DRM_IOCTL_MODE_SETCRTC, &crtc) == 0;
    }
    reason = errno;
    if (!shown) {
        drop_buffer(next.fd, next.pixels, next.size_bytes, next.framebuffer_id, next.buffer_handle);
        errno = reason;
        return -1;
    }
    drop_buffer(display->fd, display->pixels, display->size_bytes, display->framebuffer_id,
                display->buffer_handle);
    *display = next;
    return 0;
}

int display_open(struct display *display)
{
    uint32_t connectors[CONNECTORS_MAX], crtcs[CRTCS_MAX];
    struct drm_mode_card_res resources = {.connector_id_ptr = (uintptr_t)connectors,
                                          .count_connectors = CONNECTORS_MAX,
                                          .crtc_id_ptr = (uintptr_t)crtcs,
                                          .count_crtcs = CRTCS_MAX};

    *display = (struct display){.fd = open("/dev/dri/card0", O_RDWR | O_CLOEXEC)};
    if (display->fd < 0)
        return -1;
    if (card_ioctl(display->fd, DRM_IOCTL_MODE_GETRESOURCES, &resources) < 0)
        return -1;
    if (resources.count_crtcs == 0 || resources.count_connectors > CONNECTORS_MAX) {
        errno = ENODEV;
        return -1;
    }
    /* virtio-gpu drives its first scanout from its first CRTC; there is no other pairing to find. */
    display->crtc_id = crtcs[0];
    return find_connector(display, connectors, resources.count_connectors);
}

int display_flush(const struct display *display, uint32_t x, uint32_t y, uint32_t width, uint32_t height)
{
    struct drm_clip_rect clip = {
        .x1 = (uint16_t)x, .y1 = (uint16_t)y, .x2 = (uint16_t)(x + width), .y2 = (uint16_t)(y + height)};
    struct drm_mode_fb_dirty_cmd dirty = {
        .fb_id = display->framebuffer_id, .num_clips = 1, .clips_ptr = (uintptr_t)&clip};

    return card_ioctl(display->fd, DRM_IOCTL_MODE_DIRTYFB, &dirty);
}
