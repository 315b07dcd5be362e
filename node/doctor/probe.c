#include "doctor/probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { TEXT_MAX = 1 << 20 };

const struct probe_roots probe_roots_host = {.sys = "/sys", .proc = "/proc", .dev = "/dev", .etc = "/etc"};

void probe_copy(char *field, size_t size, const char *text)
{
    snprintf(field, size, "%s", text ? text : "");
}

char *probe_text(const char *root, const char *name)
{
    struct error ignored = ERROR_INIT;
    char *text = NULL;
    CLEANUP_FREE char *path = file_join(root, name);
    return file_read(path, TEXT_MAX, &text, NULL, &ignored) == 0 ? text : NULL;
}

bool probe_line(const char *root, const char *name, char *line, size_t size)
{
    CLEANUP_FREE char *text = probe_text(root, name);
    if (!text)
        return false;
    text[strcspn(text, "\n")] = '\0';
    probe_copy(line, size, text);
    return true;
}

bool probe_number(const char *root, const char *name, int64_t *value)
{
    char line[64];
    return probe_line(root, name, line, sizeof line) && text_to_integer(line, INT64_MIN, INT64_MAX, value);
}

enum fact probe_exists(const char *root, const char *name)
{
    CLEANUP_FREE char *path = file_join(root, name);
    if (access(path, F_OK) == 0)
        return FACT_YES;
    return errno == ENOENT || errno == ENOTDIR ? FACT_NO : FACT_UNKNOWN;
}

const char *probe_next_line(const char *line)
{
    const char *end = line ? strchr(line, '\n') : NULL;
    return end && end[1] ? end + 1 : NULL;
}

bool probe_field(const char *text, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = probe_next_line(line)) {
        if (strncmp(line, key, length) != 0 || !strchr(": \t", line[length]) || line[length] == '\0')
            continue;
        const char *start = line + length + strspn(line + length, ": \t");
        snprintf(value, size, "%.*s", (int)strcspn(start, "\n"), start);
        return true;
    }
    return false;
}

enum fact probe_cpu_flag(const struct probe_roots *roots, const char *flag)
{
    /* line by line: with many CPUs the file is larger than anything read whole here */
    CLEANUP_FREE char *path = file_join(roots->proc, "cpuinfo");
    CLEANUP_FCLOSE FILE *stream = fopen(path, "re");
    CLEANUP_FREE char *line = NULL;
    size_t room = 0;
    size_t length = strlen(flag);
    while (stream && getline(&line, &room, stream) > 0) {
        if (!text_starts(line, "flags"))
            continue;
        for (const char *at = strstr(line, flag); at; at = strstr(at + 1, flag))
            if ((at[-1] == ' ' || at[-1] == '\t') && (at[length] == ' ' || at[length] == '\n'))
                return FACT_YES;
        return FACT_NO;
    }
    return FACT_UNKNOWN;
}

enum fact probe_program(const char *path_list, const char *program)
{
    CLEANUP_FREE char *list = text_copy(path_list ? path_list : "");
    char *rest = list;
    for (char *folder = strsep(&rest, ":"); folder; folder = strsep(&rest, ":")) {
        CLEANUP_FREE char *path = file_join(folder, program);
        if (folder[0] == '/' && access(path, X_OK) == 0)
            return FACT_YES;
    }
    return FACT_NO;
}
