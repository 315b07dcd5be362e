/*
 * The log: one line an event on stderr, "<part>: <message>", with the syslog level in front for the journal
 * when stderr goes there (sd-daemon(3)). Never pass a token, a pairing code, typed text or another secret.
 */
#ifndef BERTHOS_BASE_LOG_H
#define BERTHOS_BASE_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Lines below this level are dropped; the default is LOG_LEVEL_WARNING. Call it before threads start. */
void log_set_level(enum log_level level);

/* The level of $BERTHOS_LOG (error, warning, info, debug), or `otherwise` where it is not set to one of them.
 */
enum log_level log_level_from_environment(enum log_level otherwise);

/* Writes one line; control characters in it are replaced. Safe from any thread. */
void log_write(enum log_level level, const char *part, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(part, ...)   log_write(LOG_LEVEL_ERROR, part, __VA_ARGS__)
#define log_warning(part, ...) log_write(LOG_LEVEL_WARNING, part, __VA_ARGS__)
#define log_info(part, ...)    log_write(LOG_LEVEL_INFO, part, __VA_ARGS__)
#define log_debug(part, ...)   log_write(LOG_LEVEL_DEBUG, part, __VA_ARGS__)

#endif
