/* The options and argument that the commands on one lease or one node share: [--url URL] [--json] [LEASE]. */
#ifndef BERTHOS_CLI_LEASE_ARGUMENTS_H
#define BERTHOS_CLI_LEASE_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>

struct lease_arguments {
    const char *url, *lease; /* NULL when not given */
    bool json;
};

/* For the options; ARGP_ERR_UNKNOWN for any other key, arguments among them. */
error_t lease_arguments_option(int key, char *arg, struct lease_arguments *arguments);

/* For an argument that is a lease's id; a second one, or one that is no id, is wrong usage. */
void lease_arguments_id(char *arg, struct argp_state *state, struct lease_arguments *arguments);

/* A whole parser for a command with the options and at most one LEASE. input: struct lease_arguments. */
error_t lease_arguments_parse(int key, char *arg, struct argp_state *state);

/* The same without a LEASE. */
error_t lease_arguments_parse_none(int key, char *arg, struct argp_state *state);

#endif
