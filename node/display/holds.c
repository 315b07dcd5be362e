#include "display/holds.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"

/* QEMU takes 32 connections: with the viewers and the node's session no more than these are left to wait. */
#define WAITING_MAX 16

struct holder {
    struct holds *holds;
    struct holder *next;
    uint32_t keys[HOLDS_KEYS_MAX]; /* in the order they went down */
    size_t count;
    uint8_t buttons; /* RFB button mask */
};

struct holds {
    pthread_mutex_t mutex; /* guards all below and every holder; no other lock is taken under it */
    struct holder *holders;
    int32_t x, y;  /* pixels; -1 before the first move */
    bool pressing; /* the node's session presses keys */
    bool ended;    /* a connection has ended since it was told */
    int *waiting;  /* descriptors to shut down when it has none down; owned */
    size_t waiting_count;
    struct kept *kept; /* the file of holds_keep(), mapped; NULL without one */
    uint8_t inherited; /* see holds_inherit() */
    int *shut;         /* such that are: QEMU may yet read from them, which close() would cut short; owned */
    size_t shut_count;
};

/* What stands in the file: no pointer and no padding that matters, for a file of this very host. */
struct kept {
    uint32_t magic;
    uint32_t buttons;
    int32_t x, y;
};
enum { KEPT_MAGIC = 0x62657274 };

int holds_keep(struct holds *holds, const char *path, struct error *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct kept *kept = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, sizeof *kept) == 0)
        kept = mmap(NULL, sizeof *kept, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (kept == MAP_FAILED)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot keep %s", path);
    LOCK_SCOPE(&holds->mutex);
    holds->kept = kept;
    if (kept->magic == KEPT_MAGIC && kept->x >= 0 && kept->y >= 0 && kept->x <= UINT16_MAX &&
        kept->y <= UINT16_MAX) {
        holds->inherited = (uint8_t)kept->buttons;
        holds->x = kept->x;
        holds->y = kept->y;
    }
    return 0;
}

/* With the mutex held. */
static void write_kept(struct holds *holds)
{
    uint8_t buttons = 0;
    for (const struct holder *holder = holds->holders; holder; holder = holder->next)
        buttons |= holder->buttons;
    if (holds->kept)
        *holds->kept = (struct kept){KEPT_MAGIC, buttons, holds->x, holds->y};
}

void holds_forget(struct holds *holds)
{
    LOCK_SCOPE(&holds->mutex);
    holds->inherited = 0;
    holds->x = holds->y = -1;
    write_kept(holds);
}

uint8_t holds_inherit(struct holds *holds)
{
    LOCK_SCOPE(&holds->mutex);
    uint8_t left = holds->inherited;
    holds->inherited = 0;
    return left;
}

struct holds *holds_new(void)
{
    struct holds *holds = memory_new(sizeof *holds);
    pthread_mutex_init(&holds->mutex, NULL);
    holds->x = holds->y = -1;
    return holds;
}

static void close_all(int **list, size_t *count)
{
    while (*count > 0)
        close((*list)[--*count]);
    free(TAKE(*list));
}

void holds_free(struct holds *holds)
{
    if (!holds)
        return;
    close_all(&holds->shut, &holds->shut_count);
    close_all(&holds->waiting, &holds->waiting_count);
    if (holds->kept)
        munmap(holds->kept, sizeof *holds->kept);
    pthread_mutex_destroy(&holds->mutex);
    free(holds);
}

struct holder *holds_join(struct holds *holds)
{
    struct holder *holder = memory_new(sizeof *holder);
    holder->holds = holds;
    LOCK_SCOPE(&holds->mutex);
    holder->next = holds->holders;
    holds->holders = holder;
    return holder;
}

void holds_leave(struct holder *holder)
{
    struct holds *holds = holder->holds;
    pthread_mutex_lock(&holds->mutex);
    struct holder **link = &holds->holders;
    while (*link != holder)
        link = &(*link)->next;
    *link = holder->next;
    write_kept(holds);
    pthread_mutex_unlock(&holds->mutex);
    free(holder);
}

static size_t find_key(const uint32_t *keys, size_t count, uint32_t key)
{
    size_t at = 0;
    while (at < count && keys[at] != key)
        at++;
    return at;
}

bool holds_key(struct holder *holder, uint32_t key, bool down)
{
    LOCK_SCOPE(&holder->holds->mutex);
    size_t at = find_key(holder->keys, holder->count, key);
    bool held = at < holder->count;
    if (down && !held) {
        if (holder->count == HOLDS_KEYS_MAX)
            return false;
        holder->keys[holder->count++] = key;
    }
    if (!down && held) {
        holder->count--;
        memmove(holder->keys + at, holder->keys + at + 1, (holder->count - at) * sizeof holder->keys[0]);
    }
    return true;
}

void holds_pointer(struct holder *holder, int32_t x, int32_t y, uint8_t buttons)
{
    LOCK_SCOPE(&holder->holds->mutex);
    holder->buttons = buttons;
    holder->holds->x = x;
    holder->holds->y = y;
    write_kept(holder->holds);
}

bool holds_position(struct holds *holds, int32_t *x, int32_t *y)
{
    LOCK_SCOPE(&holds->mutex);
    if (holds->x < 0)
        return false;
    *x = holds->x;
    *y = holds->y;
    return true;
}

size_t holds_mine(struct holder *holder, uint32_t keys[HOLDS_KEYS_MAX], uint8_t *buttons)
{
    LOCK_SCOPE(&holder->holds->mutex);
    memcpy(keys, holder->keys, holder->count * sizeof keys[0]);
    *buttons = holder->buttons;
    return holder->count;
}

size_t holds_others(struct holder *holder, uint32_t *keys, size_t max)
{
    size_t count = 0;
    LOCK_SCOPE(&holder->holds->mutex);
    for (struct holder *other = holder->holds->holders; other; other = other->next)
        for (size_t i = 0; other != holder && i < other->count && count < max; i++)
            if (find_key(keys, count, other->keys[i]) == count)
                keys[count++] = other->keys[i];
    return count;
}

bool holds_shut(struct holds *holds, int fd)
{
    LOCK_SCOPE(&holds->mutex);
    if (!holds->pressing || holds->waiting_count == WAITING_MAX) {
        shutdown(fd, SHUT_WR);
        holds->ended = true;
        return true;
    }
    int *more = memory_resize(holds->waiting, holds->waiting_count + 1, sizeof *more);
    holds->waiting = more;
    holds->waiting[holds->waiting_count++] = fd;
    return false;
}

bool holds_waiting(struct holds *holds)
{
    LOCK_SCOPE(&holds->mutex);
    return holds->waiting_count > 0;
}

/* With the mutex held. */
static void end_waiting(struct holds *holds)
{
    if (holds->waiting_count == 0)
        return;
    close_all(&holds->shut, &holds->shut_count);
    for (size_t i = 0; i < holds->waiting_count; i++)
        shutdown(holds->waiting[i], SHUT_WR);
    holds->shut = TAKE(holds->waiting);
    holds->shut_count = holds->waiting_count;
    holds->waiting_count = 0;
    holds->ended = true;
}

static bool take_ended(struct holds *holds)
{
    bool ended = holds->ended;
    holds->ended = false;
    return ended;
}

bool holds_press(struct holds *holds, bool pressing)
{
    LOCK_SCOPE(&holds->mutex);
    holds->pressing = pressing;
    if (!pressing) {
        end_waiting(holds);
        return false;
    }
    close_all(&holds->shut, &holds->shut_count);
    return take_ended(holds);
}

bool holds_sweep(struct holds *holds)
{
    LOCK_SCOPE(&holds->mutex);
    end_waiting(holds);
    return take_ended(holds);
}
