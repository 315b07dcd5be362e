#include "web/connections.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/memory.h"
#include "web/shares.h"

enum { OVER_MAX = 8, NAME_SIZE = 32 };

static const char strangers[] = "strangers";

struct connections {
    struct connections_limits limits;
    int descriptors; /* the first that no connection takes */
    struct shares *shares;
    struct deadlines *deadlines;
};

struct connections *connections_new(const struct connections_limits *limits, struct error *err)
{
    struct rlimit files = {0};
    struct deadlines *deadlines = deadlines_start(limits->deadline_ms, err);
    if (!deadlines)
        return NULL;
    struct connections *connections = memory_new(sizeof *connections);
    getrlimit(RLIMIT_NOFILE, &files);
    *connections = (struct connections){
        .limits = *limits,
        .descriptors = files.rlim_cur > INT32_MAX ? INT32_MAX : (int)files.rlim_cur - CONNECTIONS_DESCRIPTORS,
        .shares = shares_new(),
        .deadlines = deadlines};
    return connections;
}

void connections_free(struct connections *connections)
{
    deadlines_stop(connections->deadlines);
    shares_free(connections->shares);
    free(connections);
}

/* What a peer's connections are counted under; those over its share apart. */
static void name_share(const struct connection *connection, char name[NAME_SIZE])
{
    const char *kind = connection->over ? "over " : "";
    if (connection->peer.known)
        snprintf(name, NAME_SIZE, "%suid %u", kind, (unsigned)connection->peer.uid);
    else
        snprintf(name, NAME_SIZE, "%sunknown", kind);
}

/* Counts it under its peer, over the share where that is used up. False when it is one too many. */
static bool count_connection(struct connections *connections, struct connection *connection)
{
    char name[NAME_SIZE];
    if (connection->peer.kind == PEER_OPERATOR)
        return true;
    if (!shares_take(connections->shares, strangers, connections->limits.strangers))
        return false;
    name_share(connection, name);
    connection->counted = shares_take(connections->shares, name, connections->limits.share);
    if (connection->counted)
        return true;
    connection->over = true;
    name_share(connection, name);
    connection->counted = shares_take(connections->shares, name, OVER_MAX);
    if (!connection->counted)
        shares_give(connections->shares, strangers);
    return connection->counted;
}

struct connection *connections_enter(struct connections *connections, const struct peer *peer, int socket)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection) {
        shutdown(socket, SHUT_RDWR);
        return NULL;
    }
    connection->peer = *peer;
    if (socket >= connections->descriptors || !count_connection(connections, connection)) {
        log_debug("http", "a connection was one too many");
        shutdown(socket, SHUT_RDWR);
    }
    deadlines_await(connections->deadlines, &connection->deadline, socket);
    return connection;
}

void connections_leave(struct connections *connections, struct connection *connection)
{
    char name[NAME_SIZE];
    if (!connection)
        return;
    deadlines_forget(connections->deadlines, &connection->deadline);
    if (connection->counted) {
        name_share(connection, name);
        shares_give(connections->shares, name);
        shares_give(connections->shares, strangers);
    }
    free(connection);
}

void connections_request(struct connections *connections, struct connection *connection)
{
    if (connection)
        deadlines_met(connections->deadlines, &connection->deadline);
}

void connections_answered(struct connections *connections, struct connection *connection)
{
    if (connection)
        deadlines_await(connections->deadlines, &connection->deadline, connection->deadline.socket);
}
