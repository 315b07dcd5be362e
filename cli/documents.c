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

void documents_print_lease(const json_t *lease)
{
    CLEANUP_FREE char *shape = documents_shape(json_object_get(lease, "quote"));
    const char *ended_at = text_at(lease, "ended_at"), *reason = text_at(lease, "reason");
    CLEANUP_FREE char *ended =
        ended_at ? text_format("%s%s%s", ended_at, reason ? ": " : "", reason ? reason : "") : NULL;
    terminal_row("lease", text_at(lease, "id"));
    terminal_row("shape", shape);
    terminal_row("started", text_at(lease, "started_at"));
    terminal_row("expires", text_at(lease, "expires_at"));
    terminal_row("ended", ended);
    terminal_row("viewer", text_at(lease, "viewer_url"));
}

void documents_print_leases(const json_t *leases)
{
    for (size_t i = 0; i < json_array_size(leases); i++) {
        if (i > 0)
            fputs("\n", stdout);
        documents_print_lease(json_array_get(leases, i));
    }
}

void documents_print_receipt(const json_t *receipt)
{
    int64_t occupied = number_at(receipt, "occupancy_seconds"), billed = number_at(receipt, "billed_seconds");
    int64_t least = number_at(receipt, "min_seconds");
    CLEANUP_FREE char *occupied_text = layout_duration(occupied);
    CLEANUP_FREE char *billed_text = layout_duration(billed);
    CLEANUP_FREE char *least_text = layout_duration(least);
    CLEANUP_FREE char *billed_row =
        least >= 0 ? text_format("%s (the least is %s)", billed_text, least_text) : text_copy(billed_text);
    const char *price = text_at(receipt, "notional_usd");
    CLEANUP_FREE char *price_row = price ? text_format("%s USD, not charged here", price) : NULL;
    terminal_row("lease", text_at(receipt, "lease_id"));
    terminal_row("ended", text_at(receipt, "reason"));
    terminal_row("occupied", occupied >= 0 ? occupied_text : NULL);
    int64_t down = number_at(receipt, "down_seconds");
    CLEANUP_FREE char *down_text = layout_duration(down);
    terminal_row("node down", down > 0 ? down_text : NULL);
    terminal_row("billed", billed >= 0 ? billed_row : NULL);
    terminal_row("notional", price_row);
}

/* "; prepared: 2 vCPU, 4 GiB memory, 40 GiB disk (ram, 12 min 5 s)", or "". *Owned*. */
static char *describe_spare(const json_t *berth)
{
    const json_t *prepared = json_object_get(berth, "prepared");
    const char *how = text_at(prepared, "how");
    CLEANUP_FREE char *shape = documents_shape(prepared);
    if (!how || !shape)
        return text_copy("");
    int64_t seconds = number_at(prepared, "seconds");
    CLEANUP_FREE char *since = layout_duration(seconds);
    return text_format("; prepared: %s (%s%s%s)", shape, how, seconds >= 0 ? ", " : "",
                       seconds >= 0 ? since : "");
}

/* How spare guests are kept, in words; NULL for a node that does not say. Static. */
static const char *describe_warm(const char *warm)
{
    static const struct {
        const char *word, *text;
    } texts[] = {
        {"ram", "ram: the next guest is booted and paused"},
        {"disk", "disk: the next guest is restored from a saved state"},
        {"off", "off: a guest is booted when it is asked for"},
    };
    for (size_t i = 0; warm && i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(texts[i].word, warm) == 0)
            return texts[i].text;
    return warm;
}

char *documents_berth(const json_t *berth)
{
    const char *state = text_at(berth, "state"), *phase = text_at(berth, "phase"),
               *reason = text_at(berth, "reason"), *paused = text_at(berth, "paused");
    int64_t seconds = number_at(berth, "seconds");
    CLEANUP_FREE char *since = layout_duration(seconds);
    CLEANUP_FREE char *spare = describe_spare(berth);
    return text_format("%s%s%s%s%s%s%s%s%s%s", state ? state : "unknown", phase ? ": " : "",
                       phase ? phase : "", seconds >= 0 ? ", " : "", seconds >= 0 ? since : "",
                       reason ? ": " : "", reason ? reason : "", paused ? "; paused: " : "",
                       paused ? paused : "", spare);
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
    CLEANUP_FREE char *place =
        text_format("%s%s%s", url, version ? ", version " : "", version ? version : "");
    bool parked = json_is_true(json_object_get(node, "parked"));
    bool eligible = json_is_true(json_object_get(node, "eligible"));
    terminal_row("node", place);
    terminal_row("class", text_at(node, "class"));
    terminal_row("eligible", eligible ? "yes" : "no: berth doctor says why");
    terminal_row("parked", parked ? "yes: takes new leases" : "no: takes no new lease until berth park");
    terminal_row("warm", describe_warm(text_at(node, "warm")));
    size_t i;
    const json_t *berth;
    json_array_foreach(json_object_get(node, "berths"), i, berth)
    {
        CLEANUP_FREE char *label = text_format("berth %zu", i);
        CLEANUP_FREE char *text = documents_berth(berth);
        terminal_row(label, text);
    }
}
