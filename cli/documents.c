#include "documents.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "layout.h"
#include "terminal.h"

static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* The whole number at a key, also where it is written with a fraction; -1 when there is none. */
static int64_t number_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double number = json_number_value(value);
    return json_is_number(value) && number >= 0 && number < 1e15 ? (int64_t)number : -1;
}

char *documents_shape(const json_t *quote)
{
    int64_t vcpu = number_at(quote, "vcpu"), mem = number_at(quote, "mem_gib"),
            disk = number_at(quote, "disk_gib");
    if (vcpu < 0 || mem < 0 || disk < 0)
        return NULL;
    return text_format("%" PRId64 " vCPU, %" PRId64 " GiB memory, %" PRId64 " GiB disk", vcpu, mem, disk);
}

char *documents_grant(const json_t *grant)
{
    struct text_buffer text = {0};
    int64_t leases = number_at(grant, "leases"), seconds = number_at(grant, "max_seconds");
    CLEANUP_FREE char *longest = layout_duration(seconds);
    size_t i;
    const json_t *word;
    json_array_foreach(json_object_get(grant, "capabilities"), i, word)
    {
        text_join(&text, ", ", "%s", json_is_string(word) ? json_string_value(word) : "?");
    }
    if (leases > 0)
        text_join(&text, "; ", "%" PRId64 " lease%s at once", leases, leases == 1 ? "" : "s");
    if (seconds > 0)
        text_join(&text, leases > 0 ? ", " : "; ", "each %s at most", longest);
    return text.text ? text.text : text_copy("nothing");
}

void documents_print_lease(const json_t *lease)
{
    CLEANUP_FREE char *shape = documents_shape(json_object_get(lease, "quote"));
    const char *ended = text_at(lease, "ended_at"), *reason = text_at(lease, "reason");
    terminal_text("lease", text_at(lease, "id"));
    terminal_text("shape", shape);
    terminal_text("started", text_at(lease, "started_at"));
    terminal_text("expires", text_at(lease, "expires_at"));
    if (ended)
        terminal_row("ended", "%s%s%s", ended, reason ? ": " : "", reason ? reason : "");
    terminal_text("viewer", text_at(lease, "viewer_url"));
}

void documents_print_leases(const json_t *leases)
{
    for (size_t i = 0; i < json_array_size(leases); i++) {
        if (i > 0)
            fputs("\n", stdout);
        documents_print_lease(json_array_get(leases, i));
    }
}

static void print_duration(const char *label, int64_t seconds)
{
    CLEANUP_FREE char *text = layout_duration(seconds);
    terminal_text(label, seconds >= 0 ? text : NULL);
}

void documents_print_receipt(const json_t *receipt)
{
    int64_t billed = number_at(receipt, "billed_seconds"), least = number_at(receipt, "min_seconds");
    int64_t down = number_at(receipt, "down_seconds");
    const char *price = text_at(receipt, "notional_usd");
    terminal_text("lease", text_at(receipt, "lease_id"));
    terminal_text("ended", text_at(receipt, "reason"));
    print_duration("occupied", number_at(receipt, "occupancy_seconds"));
    print_duration("node down", down > 0 ? down : -1);
    CLEANUP_FREE char *billed_text = layout_duration(billed);
    CLEANUP_FREE char *least_text = layout_duration(least);
    if (billed >= 0 && least >= 0)
        terminal_row("billed", "%s (the least is %s)", billed_text, least_text);
    else
        print_duration("billed", billed);
    if (price)
        terminal_row("notional", "%s USD, not charged here", price);
}

static void add_text(struct text_buffer *line, const char *before, const char *text)
{
    if (text)
        text_append(line, "%s%s", before, text);
}

static void add_seconds(struct text_buffer *line, const json_t *object)
{
    int64_t seconds = number_at(object, "seconds");
    CLEANUP_FREE char *since = layout_duration(seconds);
    add_text(line, ", ", seconds >= 0 ? since : NULL);
}

/* How spare guests are kept, in words; NULL for a node that does not say. Static. */
static const char *describe_warm(const char *warm)
{
    static const char *const texts[] = {
        "ram: the next guest is booted and paused",
        "disk: the next guest is restored from a saved state",
        "off: a guest is booted when it is asked for",
    };
    size_t size = warm ? strlen(warm) : 0;
    for (size_t i = 0; warm && i < sizeof texts / sizeof texts[0]; i++)
        if (text_starts(texts[i], warm) && texts[i][size] == ':')
            return texts[i];
    return warm;
}

char *documents_berth(const json_t *berth)
{
    struct text_buffer line = {0};
    const char *state = text_at(berth, "state");
    const json_t *prepared = json_object_get(berth, "prepared");
    const char *how = text_at(prepared, "how");
    CLEANUP_FREE char *shape = documents_shape(prepared);
    add_text(&line, "", state ? state : "unknown");
    add_text(&line, ": ", text_at(berth, "phase"));
    add_seconds(&line, berth);
    add_text(&line, ": ", text_at(berth, "reason"));
    add_text(&line, "; paused: ", text_at(berth, "paused"));
    if (how && shape) {
        text_append(&line, "; prepared: %s (%s", shape, how);
        add_seconds(&line, prepared);
        text_append(&line, ")");
    }
    return line.text;
}

const char *documents_phase(const json_t *node)
{
    const json_t *berth, *for_a_lease = NULL, *for_nobody = NULL;
    size_t i;
    /* With several berths it is the one being prepared, not the first; one for a lease before one that has
     * none yet, which may be waited for or not. */
    json_array_foreach(json_object_get(node, "berths"), i, berth)
    {
        const char *state = text_at(berth, "state");
        const json_t **which = text_at(berth, "lease") ? &for_a_lease : &for_nobody;
        if (state && strcmp(state, "preparing") == 0 && !*which)
            *which = berth;
    }
    const json_t *chosen = for_a_lease ? for_a_lease : for_nobody;
    const char *phase = text_at(chosen ? chosen : json_object_get(node, "guest"), "phase");
    return phase ? phase : "waiting for the node";
}

void documents_print_node(const json_t *node, const char *url)
{
    const char *version = text_at(node, "version");
    bool parked = json_is_true(json_object_get(node, "parked"));
    bool eligible = json_is_true(json_object_get(node, "eligible"));
    terminal_row("node", "%s%s%s", url, version ? ", version " : "", version ? version : "");
    terminal_text("class", text_at(node, "class"));
    terminal_text("eligible", eligible ? "yes" : "no: berth doctor says why");
    terminal_text("parked", parked ? "yes: takes new leases" : "no: takes no new lease until berth park");
    terminal_text("warm", describe_warm(text_at(node, "warm")));
    size_t i;
    const json_t *berth;
    json_array_foreach(json_object_get(node, "berths"), i, berth)
    {
        CLEANUP_FREE char *label = text_format("berth %zu", i);
        CLEANUP_FREE char *text = documents_berth(berth);
        terminal_text(label, text);
    }
}
