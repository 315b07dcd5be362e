/*
 * im-berthos.so: the GTK 3 input method through which Chromium (and any GTK program here) takes text.
 *
 * It tells the daemon of each change of the focus between the program's fields: Chromium's browser process
 * learns of one some time after the key that made it, and until then a commit may go to the field before.
 *
 * When the trigger key arrives, it fetches the text that waits with the daemon and commits it: synchronously,
 * between the key events before and after, in the one place where the program knows which of its fields has
 * the focus. All other keys go GTK's usual way (GtkIMContextSimple: compose sequences and dead keys).
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtk/gtk.h>
#include <gtk/gtkimmodule.h>

#include "wire.h"

/* The program's windows stand still meanwhile; a daemon that does not answer is as good as none. */
enum { PATIENCE_SECONDS = 1 };

struct context {
    GtkIMContextSimple parent;
};

struct context_class {
    GtkIMContextSimpleClass parent;
};

static GType context_type;
static GtkIMContextClass *simple_class;

/* Sends one request. The connection for its answer, or -1. */
static int ask_daemon(const char *request)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = HELPER_SOCKET};
    struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request))
        return fd;
    close(fd);
    return -1;
}

static void tell_focus(void)
{
    int fd = ask_daemon("focus\n");
    if (fd >= 0)
        close(fd);
}

/* The text that waits; NULL when none does. Free it with g_free(). */
static char *take_text(void)
{
    int fd = ask_daemon("take\n");
    if (fd < 0)
        return NULL;
    char *text = g_malloc(HELPER_TEXT_MAX_BYTES + 1);
    size_t size = 0;
    while (size < HELPER_TEXT_MAX_BYTES) {
        ssize_t n = read(fd, text + size, HELPER_TEXT_MAX_BYTES - size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        size += (size_t)n;
    }
    close(fd);
    text[size] = '\0';
    if (size > 0 && g_utf8_validate(text, (gssize)size, NULL))
        return text;
    g_free(text);
    return NULL;
}

static gboolean filter_key(GtkIMContext *context, GdkEventKey *event)
{
    if (event->keyval == HELPER_TRIGGER_KEYSYM && event->type == GDK_KEY_PRESS) {
        char *text = take_text();
        if (text) {
            g_signal_emit_by_name(context, "commit", text);
            g_free(text);
            return TRUE;
        }
    }
    return simple_class->filter_keypress(context, event);
}

static void focus_in(GtkIMContext *context)
{
    tell_focus();
    if (simple_class->focus_in)
        simple_class->focus_in(context);
}

static void focus_out(GtkIMContext *context)
{
    tell_focus();
    if (simple_class->focus_out)
        simple_class->focus_out(context);
}

static void init_class(gpointer class, gpointer data)
{
    (void)data;
    simple_class = g_type_class_peek_parent(class);
    GTK_IM_CONTEXT_CLASS(class)->filter_keypress = filter_key;
    GTK_IM_CONTEXT_CLASS(class)->focus_in = focus_in;
    GTK_IM_CONTEXT_CLASS(class)->focus_out = focus_out;
}

/* What GTK calls in a module (gtkimmodule.h). */

void im_module_init(GTypeModule *module)
{
    const GTypeInfo info = {
        .class_size = sizeof(struct context_class),
        .class_init = init_class,
        .instance_size = sizeof(struct context),
    };
    context_type =
        g_type_module_register_type(module, GTK_TYPE_IM_CONTEXT_SIMPLE, "BerthosHelperContext", &info, 0);
}

void im_module_exit(void)
{
}

void im_module_list(const GtkIMContextInfo ***contexts, int *count)
{
    static const GtkIMContextInfo ours = {"berthos", "Berthos", "", "", ""};
    static const GtkIMContextInfo *list[] = {&ours};
    *contexts = list;
    *count = 1;
}

GtkIMContext *im_module_create(const gchar *name)
{
    return strcmp(name, "berthos") == 0 ? g_object_new(context_type, NULL) : NULL;
}
