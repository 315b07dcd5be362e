/*
 * Time. What is measured uses CLOCK_MONOTONIC or, where suspend counts, CLOCK_BOOTTIME; what is shown is UTC.
 * A deadline is a CLOCK_MONOTONIC time in milliseconds; CLOCK_NEVER never passes.
 */
#ifndef BERTHOS_BASE_CLOCK_H
#define BERTHOS_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define CLOCK_NEVER INT64_MAX

/* Length of an RFC 3339 time with milliseconds, "2026-01-31T23:59:59.123Z", with its terminator. */
#define CLOCK_TEXT_SIZE 25

int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_us(void);
int64_t clock_boottime_ms(void);

/* Milliseconds since 1970-01-01T00:00:00Z. */
int64_t clock_realtime_ms(void);

/* The deadline `timeout_ms` from now; a negative timeout gives CLOCK_NEVER. */
int64_t clock_deadline(int64_t timeout_ms);

/* Milliseconds left until the deadline, 0 when it has passed, at most INT32_MAX (fits poll()). */
int clock_left_ms(int64_t deadline_ms);

/* The id of this run of the host, as the kernel gives it: boottimes of the same id may be compared. */
#define CLOCK_BOOT_ID_SIZE 37
void clock_boot_id(char id[CLOCK_BOOT_ID_SIZE]);

/* Writes a realtime as RFC 3339 in UTC with milliseconds (RFC 3339 section 5.6). */
void clock_format(int64_t realtime_ms, char text[CLOCK_TEXT_SIZE]);

/* Reads what clock_format() writes. Returns false when the text is anything else. */
bool clock_parse(const char *text, int64_t *realtime_ms);

/* Sleeps until the deadline or `ms` milliseconds, whole, also when a signal arrives. */
void clock_sleep_ms(int64_t ms);

#endif
