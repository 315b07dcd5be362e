/*
 * What the probes share: reading the kernel's files, bounded. Each probe (probe_*.c) looks at one thing, is
 * bounded in time, and leaves a fact at zero (unknown) where it cannot tell. Private to doctor/.
 */
#ifndef BERTHOS_DOCTOR_PROBE_H
#define BERTHOS_DOCTOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "doctor/facts.h"

/* Where the kernel's files are. Tests set folders of their own; everything else uses probe_roots_host. */
struct probe_roots {
    const char *sys, *proc, *dev, *etc;
};
extern const struct probe_roots probe_roots_host;

/* A user and its groups. */
struct probe_user {
    bool known;
    uid_t uid;
    gid_t groups[64];
    size_t group_count;
};

/* Copies a text into a field of the facts; too long is cut. */
void probe_copy(char *field, size_t size, const char *text);
#define PROBE_COPY(field, text) probe_copy(field, sizeof(field), text)

/* The first line of "<root>/<name>" without its newline. False when it cannot be read. */
bool probe_line(const char *root, const char *name, char *line, size_t size);

/* The whole of a small file as a string (*owned*), NULL when it cannot be read. */
char *probe_text(const char *root, const char *name);

/* A whole decimal number that is the file's first line. False when it is anything else. */
bool probe_number(const char *root, const char *name, int64_t *value);

/* Whether "<root>/<name>" is there; unknown when that cannot be told. */
enum fact probe_exists(const char *root, const char *name);

/* The line after this one of a text; NULL after the last, and for NULL. */
const char *probe_next_line(const char *line);

/* The value after "key" and ':' or blanks in a text of lines, up to the line's end. False when it is not
 * there. */
bool probe_field(const char *text, const char *key, char *value, size_t size);

/* Whether the first line of /proc/cpuinfo that lists CPU flags has this one. */
enum fact probe_cpu_flag(const struct probe_roots *roots, const char *flag);

/* Whether a program is in a PATH-like list of folders. */
enum fact probe_program(const char *path_list, const char *program);

#endif
