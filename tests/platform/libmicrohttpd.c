/* What the code relies on in libmicrohttpd. */
#include "unit.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    (void)context, (void)url, (void)method, (void)version, (void)upload, (void)upload_size, (void)state;
    struct MHD_Response *response = MHD_create_response_from_buffer(2, (void *)"ok", MHD_RESPMEM_PERSISTENT);
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

static int serve(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    *state = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL,
                              answer, NULL, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                              MHD_OPTION_END);
    return *state ? 0 : -1;
}

static int stop(void **state)
{
    MHD_stop_daemon(*state);
    return 0;
}

static uint16_t port_of(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    assert_non_null(info);
    return info->port;
}

/* Sends a request as it stands and gives the status of the answer. */
static int status_of(struct MHD_Daemon *daemon, const char *request)
{
    CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port_of(daemon)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = 10};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(write(fd, request, strlen(request)), strlen(request));
    char reply[64] = "";
    size_t got = 0;
    ssize_t part;
    while (got < 12 && (part = read(fd, reply + got, sizeof reply - 1 - got)) > 0)
        got += (size_t)part;
    assert_true(got >= 12);
    return atoi(reply + 9);
}

/* Port 0 lets the kernel choose, and the library says which one it was. */
static void port_zero(void **state)
{
    assert_int_not_equal(port_of(*state), 0);
    assert_int_equal(status_of(*state, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), 200);
}

/* It takes any Host, so the defence against rebinding is ours to make; a missing one it refuses itself. */
static void any_host_but_one(void **state)
{
    assert_int_equal(status_of(*state, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 200);
    assert_int_equal(status_of(*state, "GET / HTTP/1.1\r\n\r\n"), 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(port_zero, serve, stop),
        cmocka_unit_test_setup_teardown(any_host_but_one, serve, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
