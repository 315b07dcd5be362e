/*
 * Theory of operation: libmicrohttpd parses a head where it was received, one buffer, and writes a zero over
 * each octet of a line's end. So the next name lies two bytes behind the end of a value, and one byte where
 * the line ended in LF alone; elsewhere altogether where lines were joined. With a library that does
 * otherwise good requests would be refused, which tests/unit/test_web_server.c would tell.
 */
#include "web/request_form.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* The octets that end a line: CR and LF. */
enum { LINE_END = 2 };

static bool is_control(unsigned char symbol)
{
    return symbol < 0x20 || symbol == 0x7f;
}

static int hex_digit(char symbol)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = symbol ? strchr(digits, tolower((unsigned char)symbol)) : NULL;
    return found ? (int)(found - digits) : -1;
}

int request_form_target(const char *target, struct error *err)
{
    for (const char *at = target; *at; at++) {
        int high = *at == '%' ? hex_digit(at[1]) : -1;
        int low = high >= 0 ? hex_digit(at[2]) : -1;
        if (is_control((unsigned char)*at) || (low >= 0 && is_control((unsigned char)(high * 16 + low))))
            return error_set(err, ERROR_BAD_REQUEST, "the request's target holds a control character");
    }
    return 0;
}

struct head {
    const char *next; /* where the next name must lie */
    int lengths, codings;
    struct error *err;
};

/* RFC 9110 section 5.6.2. */
static bool is_token(const char *name)
{
    for (const char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("!#$%&'*+-.^_`|~", *at))
            return false;
    return *name;
}

static bool has_control(const char *value)
{
    for (; *value; value++)
        if (is_control((unsigned char)*value) && *value != '\t')
            return true;
    return false;
}

static enum MHD_Result check_line(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    struct head *head = context;
    const char *text = value ? value : "";
    head->lengths += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
    if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0)
        head->codings += strcasecmp(text, "chunked") == 0 ? 1 : 2; /* another one is as bad as two */
    if (!is_token(name))
        return error_set(head->err, ERROR_BAD_REQUEST, "the name of a header is no token"), MHD_NO;
    if (has_control(text))
        return error_set(head->err, ERROR_BAD_REQUEST, "a header holds a control character"), MHD_NO;
    if (name != head->next)
        return error_set(head->err, ERROR_BAD_REQUEST, "a line of the head does not end in CR LF"), MHD_NO;
    head->next = text + strlen(text) + LINE_END;
    return MHD_YES;
}

int request_form_head(struct MHD_Connection *connection, const char *method, const char *target_end,
                      const char *version, struct error *err)
{
    struct error refused = ERROR_INIT;
    struct head head = {.next = version + strlen(version) + LINE_END, .err = &refused};
    if (!target_end || target_end + 1 != version)
        return error_set(err, ERROR_BAD_REQUEST, "the request's first line holds more than it should");
    MHD_get_connection_values(connection, MHD_HEADER_KIND, check_line, &head);
    if (refused.code) {
        *err = refused;
        return -1;
    }
    if (head.lengths + head.codings > 1)
        return error_set(err, ERROR_BAD_REQUEST,
                         "the request says twice, or in an unknown way, how long it is");
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (!size || method + size->header_size != head.next + LINE_END)
        return error_set(err, ERROR_BAD_REQUEST, "a line of the head does not end in CR LF");
    return 0;
}
