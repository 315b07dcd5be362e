#include "mcp/revision.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The newest first. */
static const struct mcp_revision table[] = {
    {.name = "2026-07-28",
     .stateless = true,
     .annotations = true,
     .structured = true,
     .described_server = true},
    {.name = "2025-11-25", .annotations = true, .structured = true, .described_server = true},
    {.name = "2025-06-18", .annotations = true, .structured = true},
    {.name = "2025-03-26", .batches = true, .annotations = true},
    {.name = "2024-11-05"},
};

const struct mcp_revision *mcp_revision_find(const char *name)
{
    for (size_t i = 0; i < COUNT(table); i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

const struct mcp_revision *mcp_revision_latest_initialized(void)
{
    size_t i = 0;
    while (table[i].stateless)
        i++;
    return &table[i];
}

json_t *mcp_revision_names(void)
{
    json_t *names = json_array();
    for (size_t i = 0; i < COUNT(table); i++)
        json_array_append_new(names, json_string(table[i].name));
    return names;
}
