/*
 * Leases, quotes and receipts as documents (CONTRACT.md section 3). Nothing is charged by this program: the
 * notional figures are what a market may use.
 */
#ifndef BERTHOS_PROTOCOL_LEASE_H
#define BERTHOS_PROTOCOL_LEASE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define LEASE_ID_SIZE                 35 /* "l_", 32 hex digits, terminator */
#define LEASE_MIN_SECONDS             60
#define LEASE_MAX_SECONDS             31536000 /* that anybody may ask for, or set as a limit: a year */
#define LEASE_RATE_MICRO_USD_PER_HOUR 48000    /* "0.048" */

struct lease_shape {
    int64_t vcpu;
    int64_t mem_gib;
    int64_t disk_gib;
};

/* Why a lease ended. */
enum lease_reason { REASON_GRACEFUL, REASON_EXPIRED, REASON_GUEST_DIED, REASON_OPERATOR, REASON_COUNT };

struct lease_document {
    char id[LEASE_ID_SIZE];
    bool live;
    struct lease_shape shape;
    int64_t started_ms;   /* realtime */
    int64_t ended_ms;     /* realtime; 0 while live */
    int64_t expires_ms;   /* realtime; 0 = never */
    uint16_t viewer_port; /* of the guest view on 127.0.0.1; 0 when there is none */
    const char *reason;   /* why it ended; static, NULL while live */
};

struct lease_receipt {
    char lease_id[LEASE_ID_SIZE];
    int64_t occupancy_seconds;
    int64_t down_seconds; /* not occupancy: the node was down between two of its runs */
    enum lease_reason reason;
};

/* What a create asks for. Fields that were not given are -1; the os is borrowed from the body, NULL when
 * missing. */
struct lease_request {
    const char *os;
    int64_t vcpu, mem_gib, disk_gib;
    int64_t ttl_seconds;
};

/*
 * Decodes a create's body as far as its form goes: ERROR_BAD_REQUEST for anything that is not an object with
 * these fields of these types. Whether the values make sense is lease_request_check()'s to say, later in the
 * order of refusals.
 */
int lease_request_decode(const json_t *body, struct lease_request *request, struct error *err);

/* ERROR_OS_REFUSED unless the os is linux; ERROR_BAD_SHAPE for a zero, negative or absurd shape or time. */
int lease_request_check(const struct lease_request *request, struct error *err);

/* {charged_here: false, note}. A new reference. */
json_t *protocol_settlement(void);

#define LEASE_URL_SIZE 32

/* The address of a guest view, "http://127.0.0.1:PORT/". */
void lease_viewer_url(uint16_t port, char url[LEASE_URL_SIZE]);

/* New references. */
json_t *lease_encode(const struct lease_document *lease);
json_t *receipt_encode(const struct lease_receipt *receipt);

/* max(occupancy, minimum), in seconds. */
int64_t receipt_billed_seconds(const struct lease_receipt *receipt);

/* The words of the reasons, ended by NULL; of one, "unknown" for what is none. */
extern const char *const lease_reason_words[REASON_COUNT + 1];
const char *lease_reason_word(enum lease_reason reason);

/* Whether the text has the form of a lease id. */
bool lease_id_valid(const char *id);

#endif
