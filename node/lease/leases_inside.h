/* What the berths of a node share. Private to lease/. */
#ifndef BERTHOS_LEASE_LEASES_INSIDE_H
#define BERTHOS_LEASE_LEASES_INSIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/audit.h"
#include "config/config.h"
#include "doctor/eligibility.h"
#include "guest/hypervisor.h"
#include "lease/journal.h"
#include "pairing/pairing.h"

struct leases {
    /* of struct leases_options; borrowed */
    const struct config *config;
    const char *node_id;
    struct hypervisor *hypervisor;
    struct eligibility *eligibility;
    struct audit *audit;
    struct pairing *pairing;
    const char *view_assets;
    const struct peer_policy *peers;

    struct picture_budget *pictures; /* of all displays; owned */
    struct journal journal;
    char *verified;        /* path of the verified-once cache; owned */
    char *golden;          /* folder of the golden states; owned */
    struct berth *berths;  /* owned */
    size_t count;          /* of berths */
    size_t offered;        /* the first so many take new leases */
    enum config_warm warm; /* how spares are kept; fixed */

    pthread_mutex_t mutex; /* guards all below, and who takes which berth */
    bool parked;
    bool stopping;
    int jobs;                   /* threads of jobs.c */
    bool keeper_due;            /* something changed that the keeper must look at */
    pthread_cond_t keeper_wake; /* jobs, keeper_due or stopping changed */

    /* of keeper.c */
    pthread_t keeper;
    bool keeper_started;
    int64_t compacted_ms; /* monotonic: when the journal was compacted last */
};

#endif
