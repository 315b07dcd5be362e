/*
 * What a person sees: data on stdout, talk on stderr, colour only on a terminal and never with NO_COLOR
 * (no-color.org). Nothing that came from elsewhere is written raw.
 */
#ifndef BERTHOS_CLI_TERMINAL_H
#define BERTHOS_CLI_TERMINAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Exit codes of every command. */
enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2 };

enum terminal_colour { COLOUR_NONE, COLOUR_RED, COLOUR_YELLOW, COLOUR_GREEN, COLOUR_DIM };

/* Whether `fd` is a terminal that takes colour. */
bool terminal_colour_ok(int fd);

/* The width of the terminal that `fd` is, in columns; 0 when it is none. */
size_t terminal_width(int fd);

/* Writes text to stdout, coloured where that is right. */
void terminal_paint(enum terminal_colour colour, const char *text);

/* A line "LABEL  text" on stdout, cleaned. */
void terminal_row(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same of a text that may be missing: NULL writes nothing. */
void terminal_text(const char *label, const char *text);

/* One line of talk on stderr, cleaned. */
void terminal_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "berth: <sentence>" on stderr. Returns EXIT_REFUSED, so that `return terminal_fail(&err)` reads well. */
int terminal_fail(const struct error *err);

/* Writes a document to stdout, indented, never coloured. Returns EXIT_DONE. */
int terminal_document(const json_t *document);

/*
 * A line on stderr that replaces the one before it. Only where stderr is a terminal; elsewhere nothing.
 * NULL takes the line away.
 */
void terminal_update(const char *text);

/* A progress callback (image_open(), doctor_run()): "checking the image: 45 %", at most ten times a second.
 */
void terminal_progress(void *context, uint64_t done_bytes, uint64_t total_bytes);

#endif
