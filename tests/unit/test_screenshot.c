/* Looking: regions, sizes, names, settling, and who shares what with whom. CASES.md 9, 11. */
#include "unit.h"

#include <jansson.h>
#include <png.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "display_fixture.h"

static const struct picture_request plain = {
    .format = PICTURE_PNG, .quality = 80, .settle_ms = -1, .timeout_ms = 5000};

static struct picture *screenshot_good(struct display *display, const struct picture_request *request)
{
    struct error err = ERROR_INIT;
    struct picture *picture = display_screenshot(display, request, NULL, &err);
    assert_string_equal(err.text, "");
    assert_non_null(picture);
    return picture;
}

/* The pixels of a PNG, 0x00RRGGBB. *Owned*. */
static uint32_t *read_png(const struct picture *picture)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_string_equal(picture->mime, "image/png");
    assert_true(png_image_begin_read_from_memory(&image, picture->data, picture->size));
    assert_int_equal(image.width, picture->width);
    assert_int_equal(image.height, picture->height);
    image.format = PNG_FORMAT_BGRA;
    uint32_t *pixels = malloc(PNG_IMAGE_SIZE(image));
    assert_true(png_image_finish_read(&image, NULL, pixels, 0, NULL));
    for (uint32_t i = 0; i < image.width * image.height; i++)
        pixels[i] &= 0xffffff;
    return pixels;
}

static void assert_pictured(const struct picture *picture, uint32_t seed, struct fake_patch patch)
{
    uint32_t *pixels = read_png(picture);
    for (uint32_t y = 0; y < picture->height; y++)
        for (uint32_t x = 0; x < picture->width; x++)
            assert_int_equal(pixels[y * picture->width + x],
                             fake_shown(seed, patch, (int)x + picture->region.x, (int)y + picture->region.y));
    free(pixels);
}

static void set_patch(struct fake *fake, int x, int y, int w, int h, uint32_t seed)
{
    FAKE_SET(fake, patch, ((struct fake_patch){x, y, w, h, seed}));
}

static void shows_all_and_parts(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    struct picture *picture = screenshot_good(display, &plain);
    assert_pictured(picture, 1, (struct fake_patch){0});
    assert_int_equal(picture->frame_width, WIDTH);
    assert_int_equal(picture->frame_height, HEIGHT);
    assert_true(picture->scale == 1);
    picture_release(picture);

    const struct action_region regions[] = {
        {0, 0, 1, 1}, {199, 119, 1, 1}, {0, 0, 200, 120}, {17, 3, 101, 99}, {0, 119, 200, 1}};
    for (size_t i = 0; i < 5; i++) {
        struct picture_request request = plain;
        request.has_region = true;
        request.region = regions[i];
        picture = screenshot_good(display, &request);
        assert_int_equal(picture->width, regions[i].width);
        assert_int_equal(picture->height, regions[i].height);
        assert_pictured(picture, 1, (struct fake_patch){0});
        picture_release(picture);
    }
    const struct action_region outside[] = {{0, 0, 201, 1}, {0, 0, 1, 121}, {200, 0, 1, 1},
                                            {-1, 0, 5, 5},  {5, 5, 0, 1},   {2147483647, 0, 2147483647, 1}};
    for (size_t i = 0; i < 6; i++) {
        struct picture_request request = plain;
        struct error err = ERROR_INIT;
        request.has_region = true;
        request.region = outside[i];
        assert_null(display_screenshot(display, &request, NULL, &err));
        assert_int_equal(err.code, ERROR_BAD_REQUEST);
        assert_non_null(strstr(err.text, "200x120"));
    }
}

static void makes_pictures_smaller(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    struct picture_request request = plain;
    request.max_edge = 100;
    struct picture *picture = screenshot_good(display, &request);
    assert_int_equal(picture->width, 100);
    assert_int_equal(picture->height, 60);
    assert_true(picture->scale == 0.5);
    uint32_t *pixels = read_png(picture);
    for (int y = 0; y < 60; y++)
        for (int x = 0; x < 100; x++)
            for (int shift = 0; shift < 24; shift += 8) {
                int sum = 0;
                for (int k = 0; k < 4; k++)
                    sum += fake_pixel(1, 2 * x + k % 2, 2 * y + k / 2) >> shift & 255;
                assert_int_equal(pixels[y * 100 + x] >> shift & 255, (sum + 2) / 4);
            }
    free(pixels);
    picture_release(picture);
    request.has_region = true;
    request.region = (struct action_region){10, 10, 50, 80};
    request.max_edge = 1000;
    picture = screenshot_good(display, &request); /* never made larger */
    assert_int_equal(picture->width, 50);
    assert_true(picture->scale == 1);
    picture_release(picture);
}

static void a_name_is_of_what_is_shown(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    struct picture_request request = plain, part = plain;
    struct picture *first = screenshot_good(display, &request);
    part.has_region = true;
    part.region = (struct action_region){100, 50, 20, 20};
    struct picture *corner = screenshot_good(display, &part);
    assert_string_not_equal(first->etag, corner->etag);
    struct picture_request jpeg = plain;
    jpeg.format = PICTURE_JPEG;
    struct picture *other = screenshot_good(display, &jpeg);
    assert_string_equal(other->mime, "image/jpeg");
    assert_string_not_equal(first->etag, other->etag);
    picture_release(other);

    char list[200];
    snprintf(list, sizeof list, "\"nothing\", %s", first->etag);
    request.known_etag = list;
    struct picture *known = screenshot_good(display, &request);
    assert_true(known->known);
    assert_null(known->data);
    assert_int_equal(known->frame_width, WIDTH);
    assert_string_equal(known->etag, first->etag);
    picture_release(known);

    set_patch(fake, 0, 0, 10, 10, 7); /* elsewhere than the part */
    clock_sleep_ms(80);
    struct picture *second = screenshot_good(display, &request);
    assert_false(second->known);
    assert_string_not_equal(first->etag, second->etag);
    assert_pictured(second, 1, fake->patch);
    struct picture *again = screenshot_good(display, &part);
    assert_string_equal(again->etag, corner->etag);
    picture_release(again);
    picture_release(second);

    set_patch(fake, 0, 0, 10, 10, 1); /* as it was */
    clock_sleep_ms(80);
    known = screenshot_good(display, &request);
    assert_true(known->known);
    picture_release(known);
    picture_release(corner);
    picture_release(first);
}

static void the_same_picture_is_made_once(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    struct picture *first = screenshot_good(display, &plain), *second = screenshot_good(display, &plain);
    assert_ptr_equal(first->data, second->data);
    picture_release(first);
    clock_sleep_ms(80); /* another fence, the same pixels */
    first = screenshot_good(display, &plain);
    assert_ptr_equal(first->data, second->data);
    FAKE_SET(fake, seed, 2);
    clock_sleep_ms(80);
    struct picture *third = screenshot_good(display, &plain);
    assert_ptr_not_equal(first->data, third->data);
    assert_pictured(first, 1, (struct fake_patch){0}); /* what is held does not change */
    picture_release(first);
    end_now(display);
    assert_pictured(second, 1, (struct fake_patch){0}); /* nor ends with the session */
    assert_pictured(third, 2, (struct fake_patch){0});
    picture_release(second);
    picture_release(third);
}

struct caller {
    pthread_t thread;
    bool runs;
    struct display *display;
    struct picture_request request;
    struct cancel *cancel;
    struct picture *picture;
    struct error err;
    int64_t ended_ms;
};

static void *call(void *argument)
{
    struct caller *caller = argument;
    caller->picture = display_screenshot(caller->display, &caller->request, caller->cancel, &caller->err);
    caller->ended_ms = clock_monotonic_ms();
    return NULL;
}

static void join_caller(struct caller *caller)
{
    pthread_join(caller->thread, NULL);
    caller->runs = false;
}

static void end_caller(void *argument)
{
    struct caller *caller = argument;
    if (caller->runs) {
        display_shutdown(caller->display);
        join_caller(caller);
    }
    if (caller->picture)
        picture_release(caller->picture);
    if (caller->cancel)
        cancel_free(caller->cancel);
}

/* Looks in a thread of its own. Until the end of the test, or end_now(). */
static struct caller *start_caller(struct display *display, const struct picture_request *request,
                                   bool cancellable)
{
    struct caller *caller = unit_room(sizeof *caller);
    *caller = (struct caller){
        .runs = true, .display = display, .request = *request, .cancel = cancellable ? cancel_new() : NULL};
    pthread_create(&caller->thread, NULL, call, caller);
    at_end(end_caller, caller);
    return caller;
}

/* Many callers, of one picture and of many, while the screen changes under them: all are answered, whole.
 * Under valgrind fewer are as many as there is time for. */
static void many_callers_are_all_answered(void **state)
{
    (void)state;
    const char *given = getenv("BERTHOS_TEST_CALLERS");
    const int count = given ? atoi(given) : 120;
    struct fake *fake = start_fake(640, 480, FAKE_FINE);
    struct display *display = open_good(fake);
    for (int round = 0; round < 3; round++) {
        struct caller **callers = unit_room((size_t)count * sizeof(struct caller *));
        for (int i = 0; i < count; i++) {
            struct picture_request request = plain;
            request.timeout_ms = 60000; /* that they are answered counts, not how busy the host is */
            if (round == 1) {           /* all want different ones */
                request.has_region = true;
                request.region = (struct action_region){i, i, 300, 200};
            }
            callers[i] = start_caller(display, &request, false);
            if (round == 2 && i % 10 == 0)
                FAKE_SET(fake, seed, (uint32_t)(100 + i));
        }
        const unsigned char *data = NULL;
        int different = 0;
        for (int i = 0; i < count; i++) {
            join_caller(callers[i]);
            assert_string_equal(callers[i]->err.text, "");
            assert_non_null(callers[i]->picture);
            different += callers[i]->picture->data != data;
            data = callers[i]->picture->data;
        }
        if (round == 0)
            assert_int_equal(different, 1); /* one encode for all */
        for (int i = 0; i < count; i += 7) {
            uint32_t *pixels = read_png(callers[i]->picture), seed = 1;
            struct action_region region = callers[i]->picture->region;
            for (uint32_t s = 100; round == 2 && s < 100 + (uint32_t)count; s++)
                if (pixels[0] == fake_pixel(s, region.x, region.y))
                    seed = s;
            free(pixels);
            assert_pictured(callers[i]->picture, seed, (struct fake_patch){0});
        }
        for (int i = 0; i < count; i++)
            end_now(callers[i]);
    }
}

static void waits_until_it_is_still(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    picture_release(screenshot_good(display, &plain));
    struct picture_request request = plain;
    request.settle_ms = 300;
    struct caller *caller = start_caller(display, &request, false);
    uint32_t seed = 2;
    int64_t last_ms = 0;
    for (; seed < 8; seed++) { /* keeps it waiting for longer than it would of itself */
        clock_sleep_ms(100);
        FAKE_SET(fake, seed, seed);
        last_ms = clock_monotonic_ms();
    }
    join_caller(caller);
    assert_non_null(caller->picture);
    assert_true(caller->picture->still);
    assert_in_range(caller->ended_ms - last_ms, 300, 800);
    assert_pictured(caller->picture, seed - 1, (struct fake_patch){0});

    /* It has been still for a while, and that is known: no need to wait once more. */
    clock_sleep_ms(400);
    int64_t began_ms = clock_monotonic_ms();
    struct picture *picture = screenshot_good(display, &request);
    assert_true(picture->still);
    assert_in_range(clock_monotonic_ms() - began_ms, 0, 200);
    picture_release(picture);
}

struct changer {
    pthread_t thread;
    struct fake *fake;
    atomic_bool stop;
};

/* For a while at most. */
static void *change_on(void *argument)
{
    struct changer *changer = argument;
    for (int i = 0; i < 30 && !changer->stop; i++) {
        set_patch(changer->fake, 100, 60, 10, 10, (uint32_t)(50 + i));
        clock_sleep_ms(40);
    }
    return NULL;
}

static void end_changes(void *argument)
{
    struct changer *changer = argument;
    changer->stop = true;
    pthread_join(changer->thread, NULL);
}

/* A part of the screen, at 100, 60, that changes until the end of the test. */
static void start_changes(struct fake *fake)
{
    struct changer *changer = unit_room(sizeof *changer);
    changer->fake = fake;
    pthread_create(&changer->thread, NULL, change_on, changer);
    at_end(end_changes, changer);
}

static void a_restless_screen_is_shown_as_it_is(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    picture_release(screenshot_good(display, &plain));
    start_changes(fake);
    clock_sleep_ms(100);
    struct picture_request request = plain;
    request.settle_ms = 300;
    request.timeout_ms = 500;
    int64_t began_ms = clock_monotonic_ms();
    struct picture *picture = screenshot_good(display, &request);
    assert_false(picture->still);
    assert_in_range(clock_monotonic_ms() - began_ms, 450, 1000);
    picture_release(picture);
    request.has_region = true; /* another part of it is still */
    request.region = (struct action_region){0, 0, 100, 120};
    request.settle_ms = 100;
    picture = screenshot_good(display, &request);
    assert_true(picture->still);
    picture_release(picture);
}

static void who_has_gone_waits_no_longer(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    picture_release(screenshot_good(display, &plain));
    for (int round = 0; round < 2; round++) {
        struct picture_request request = plain;
        if (round == 0)
            request.settle_ms = 4000;
        else
            FAKE_SET(fake, mute, true);
        clock_sleep_ms(80);
        struct caller *caller = start_caller(display, &request, true);
        clock_sleep_ms(150);
        int64_t fired_ms = clock_monotonic_ms();
        cancel_fire(caller->cancel);
        join_caller(caller);
        assert_null(caller->picture);
        assert_int_equal(caller->err.code, ERROR_CANCELLED);
        assert_in_range(caller->ended_ms - fired_ms, 0, 500);
    }
    FAKE_SET(fake, mute, false);
}

/* What an action changed is seen without anybody looking at pictures. */
static void tells_what_changed(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    picture_release(screenshot_good(display, &plain));
    struct display_changes changes;
    display_changes(display, 0, &changes);
    assert_true(changes.any);
    assert_int_equal(changes.region.width, WIDTH);
    assert_int_equal(strlen(changes.etag), 34); /* it is known: we have just looked */
    uint64_t since = 1;
    display_changes(display, since, &changes);
    assert_false(changes.any);

    perform_good(display, "{\"op\":\"move\",\"x\":3,\"y\":4}");
    set_patch(fake, 50, 40, 8, 6, 77);
    clock_sleep_ms(150);
    display_changes(display, since, &changes);
    assert_true(changes.any);
    assert_int_equal(changes.region.x, 50);
    assert_int_equal(changes.region.y, 40);
    assert_int_equal(changes.region.width, 8);
    assert_int_equal(changes.region.height, 6);
    assert_true(changes.last_ms <= clock_monotonic_ms());
    assert_string_equal(changes.etag, "");

    /* Only the next change was asked for: nobody waits. */
    set_patch(fake, 0, 0, 8, 6, 78);
    clock_sleep_ms(150);
    struct display_changes later;
    display_changes(display, since, &later);
    assert_int_equal(later.region.x, 50);
}

/* A wait for a region takes no notice of others, and QEMU is not asked more often than need be. */
static void a_wait_is_for_its_region(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    picture_release(screenshot_good(display, &plain));
    start_changes(fake);
    pthread_mutex_lock(&fake->mutex);
    size_t before = fake->fences;
    pthread_mutex_unlock(&fake->mutex);
    int64_t began_ms = clock_monotonic_ms();
    perform_good(display,
                 "{\"op\":\"wait\",\"until\":\"still\",\"region\":[0,0,100,120],\"timeout_ms\":5000}");
    int64_t took_ms = clock_monotonic_ms() - began_ms;
    assert_in_range(took_ms, ACTION_STILL_MS, ACTION_STILL_MS + 300);
    pthread_mutex_lock(&fake->mutex);
    size_t fences = fake->fences - before;
    pthread_mutex_unlock(&fake->mutex);
    assert_in_range(fences, 2, (size_t)took_ms / 100 + 4);
    perform_good(display,
                 "{\"op\":\"wait\",\"until\":\"change\",\"region\":[109,69,50,50],\"timeout_ms\":5000}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(shows_all_and_parts),
        UNIT_TEST(makes_pictures_smaller),
        UNIT_TEST(a_name_is_of_what_is_shown),
        UNIT_TEST(the_same_picture_is_made_once),
        UNIT_TEST(many_callers_are_all_answered),
        UNIT_TEST(waits_until_it_is_still),
        UNIT_TEST(a_restless_screen_is_shown_as_it_is),
        UNIT_TEST(who_has_gone_waits_no_longer),
        UNIT_TEST(tells_what_changed),
        UNIT_TEST(a_wait_is_for_its_region),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
