#include "lease_arguments.h"

#include <errno.h>

#include "command.h"
#include "session.h"

error_t lease_arguments_option(int key, char *arg, struct lease_arguments *arguments)
{
    switch (key) {
    case OPTION_URL:
        arguments->url = arg;
        return 0;
    case OPTION_JSON:
        arguments->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void lease_arguments_id(char *arg, struct argp_state *state, struct lease_arguments *arguments)
{
    if (arguments->lease)
        argp_error(state, "\"%s\" is too much", arg);
    if (!session_lease_ok(arg))
        argp_error(state, "\"%s\" is not a lease: its id is l_ and 32 hex digits", arg);
    arguments->lease = arg;
}

error_t lease_arguments_parse(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG) {
        lease_arguments_id(arg, state, state->input);
        return 0;
    }
    return lease_arguments_option(key, arg, state->input);
}

error_t lease_arguments_parse_none(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG)
        argp_error(state, "\"%s\" is too much", arg);
    return lease_arguments_option(key, arg, state->input);
}
