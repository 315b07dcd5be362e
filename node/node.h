/* The node: puts the parts together, runs until it is told to stop, and takes them apart again. */
#ifndef BERTHOS_NODE_H
#define BERTHOS_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"

/* What the command line says over node.toml. */
struct node_options {
    const char *bind;                 /* NULL: as node.toml says */
    int64_t port;                     /* -1: as node.toml says */
    const enum config_intent *intent; /* NULL: as node.toml says */
    bool end_leases_on_stop;          /* else live leases are left for the next start */
};

/*
 * Runs a node in the foreground until SIGINT or SIGTERM. Refuses, with an error and before anything listens:
 * an address that is not loopback (before anything else), a wrong node.toml, a second node on the same home,
 * a red doctor. Prints address and pairing code on stdout once it listens. Returns 0 after a clean stop.
 */
int node_run(const struct node_options *options, struct error *err);

#endif
