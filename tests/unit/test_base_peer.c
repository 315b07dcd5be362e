/* Who is at the other end of a TCP connection, as the kernel says it. */
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/peer.h"
#include "base/user.h"
#include "web/listener.h"

enum { NOBODY = 65534 };

/* A connection between a listener of ours and a process of its own, which ends when its pipe is closed. */
struct meeting {
    int listener, accepted, hold; /* hold: the end of the pipe that keeps the process */
    pid_t child;
    struct sockaddr_storage theirs, ours;
};

static int connect_to(const struct sockaddr_storage *address)
{
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    return connect(fd, (const struct sockaddr *)address, size) == 0 ? fd : -1;
}

static void run_client(uid_t uid, const struct sockaddr_storage *address, int hold)
{
    char byte;
    if (uid != geteuid() && setresuid(uid, uid, uid) < 0)
        _exit(2);
    int fd = connect_to(address);
    if (fd >= 0)
        while (read(hold, &byte, 1) > 0)
            continue;
    _exit(fd < 0);
}

static void meet(struct meeting *meeting, const char *bind, uid_t uid)
{
    struct error err = ERROR_INIT;
    struct sockaddr_storage address;
    int ends[2];
    socklen_t size = sizeof meeting->theirs;
    meeting->listener = listener_open(bind, 0, &err);
    assert_true(meeting->listener >= 0);
    listener_address(meeting->listener, &address);
    assert_int_equal(pipe(ends), 0);
    meeting->child = fork();
    if (meeting->child == 0) {
        close(ends[1]);
        run_client(uid, &address, ends[0]);
    }
    close(ends[0]);
    meeting->hold = ends[1];
    struct pollfd waiting = {.fd = meeting->listener, .events = POLLIN};
    assert_int_equal(poll(&waiting, 1, 20000), 1);
    meeting->accepted = accept(meeting->listener, (struct sockaddr *)&meeting->theirs, &size);
    assert_true(meeting->accepted >= 0);
    listener_address(meeting->accepted, &meeting->ours);
}

static void end_client(struct meeting *meeting)
{
    int status;
    close(meeting->hold);
    assert_int_equal(waitpid(meeting->child, &status, 0), meeting->child);
    assert_int_equal(status, 0);
}

static void part(struct meeting *meeting)
{
    close(meeting->accepted);
    close(meeting->listener);
}

static bool find(const struct meeting *meeting, uid_t *uid)
{
    return peer_find((const struct sockaddr *)&meeting->theirs, (const struct sockaddr *)&meeting->ours, uid);
}

static void the_kernel_says_who(void **state)
{
    (void)state;
    static const char *const binds[] = {"127.0.0.1", "127.0.0.9", "::1"};
    for (size_t i = 0; i < sizeof binds / sizeof *binds; i++) {
        uid_t uid = 12345;
        struct meeting meeting;
        uid_t other = geteuid() == 0 ? NOBODY : geteuid();
        meet(&meeting, binds[i], other);
        assert_true(find(&meeting, &uid));
        assert_int_equal(uid, other);
        end_client(&meeting);
        part(&meeting);
    }
}

/* Of a socket that nobody holds any more the kernel says uid 0: whoever closed at once would be root. */
static void whoever_has_gone_is_nobody(void **state)
{
    (void)state;
    struct meeting meeting;
    uid_t uid = 12345;
    meet(&meeting, "127.0.0.1", geteuid() == 0 ? NOBODY : geteuid());
    end_client(&meeting);
    assert_false(find(&meeting, &uid));
    close(meeting.accepted);
    assert_false(find(&meeting, &uid));
    assert_int_equal(uid, 12345);
    close(meeting.listener);
}

static void what_is_no_connection_is_nobody(void **state)
{
    (void)state;
    uid_t uid;
    struct sockaddr_storage here, there;
    struct error err = ERROR_INIT;
    CLEANUP_CLOSE int one = listener_open("127.0.0.1", 0, &err);
    CLEANUP_CLOSE int two = listener_open("::1", 0, &err);
    listener_address(one, &here);
    listener_address(two, &there);
    assert_false(peer_find((struct sockaddr *)&here, (struct sockaddr *)&here, &uid));
    assert_false(peer_find((struct sockaddr *)&here, (struct sockaddr *)&there, &uid));
    here.ss_family = AF_UNIX;
    assert_false(peer_find((struct sockaddr *)&here, (struct sockaddr *)&here, &uid));
}

static void kinds(void **state)
{
    (void)state;
    const struct peer_policy policy = {.own = 1000, .qemu = 64055, .guests_from = 70000, .guests = 10};
    static const struct {
        uid_t uid;
        enum peer_kind kind;
    } cases[] = {{0, PEER_OPERATOR},        {1000, PEER_OPERATOR},  {1001, PEER_STRANGER},
                 {64055, PEER_REFUSED},     {69999, PEER_STRANGER}, {70000, PEER_REFUSED},
                 {70009, PEER_REFUSED},     {70010, PEER_STRANGER}, {65534, PEER_STRANGER},
                 {(uid_t)-1, PEER_STRANGER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(peer_judge(&policy, true, cases[i].uid).kind, cases[i].kind);
    assert_int_equal(peer_judge(&policy, false, 0).kind, PEER_STRANGER);
    assert_int_equal(peer_judge(NULL, true, 0).kind, PEER_STRANGER);
}

/* A node whose QEMU runs as its own user must not shut its own user out. */
static void the_own_user_is_never_refused(void **state)
{
    (void)state;
    const struct peer_policy policy = {.own = 70003, .qemu = 70003, .guests_from = 70000, .guests = 10};
    assert_int_equal(peer_judge(&policy, true, 70003).kind, PEER_OPERATOR);
    const struct peer_policy nobody = {.own = 1000, .qemu = (uid_t)-1};
    assert_int_equal(peer_judge(&nobody, true, 70003).kind, PEER_STRANGER);
}

/* On Debian every user is in the group of its own name; the group counts for the service alone. */
static void a_group_counts_for_the_service(void **state)
{
    (void)state;
    struct passwd *daemon = getpwnam("daemon");
    assert_non_null(daemon);
    assert_null(peer_policy_own("no-such-user").group);
    struct peer_policy policy = {.own = 1000, .qemu = (uid_t)-1, .group = "daemon"};
    assert_int_equal(peer_judge(&policy, true, daemon->pw_uid).kind, PEER_OPERATOR);
    assert_int_equal(peer_judge(&policy, true, NOBODY).kind, PEER_STRANGER);
    assert_false(user_in_group(NOBODY, "daemon"));
    assert_false(user_in_group(NOBODY, "no-such-group"));
}

static void subordinate_uids(void **state)
{
    (void)state;
    static const char lines[] = "# none\nalice:100000:65536\nbob:70000:64\n1000:200000:1\nbroken:x:y\n";
    char path[] = "/tmp/berth-subuid-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, lines, sizeof lines - 1), sizeof lines - 1);
    close(fd);
    static const struct {
        uid_t uid;
        bool taken;
    } cases[] = {{99999, false}, {100000, true}, {165535, true}, {165536, false}, {69999, false},
                 {70000, true},  {70063, true},  {70064, false}, {200000, true},  {200001, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(user_is_subordinate(path, cases[i].uid), cases[i].taken);
    unlink(path);
    assert_false(user_is_subordinate(path, 100000)); /* a host without such a list */
    assert_true(user_exists(0));
    assert_false(user_exists(70000));
}

static void one_listener_for_each_port(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct sockaddr_storage address;
    CLEANUP_CLOSE int first = listener_open("127.0.0.1", 0, &err);
    uint16_t port = listener_address(first, &address);
    assert_int_equal(listener_open("127.0.0.1", port, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_non_null(strstr(err.text, "another node"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_says_who),
        cmocka_unit_test(whoever_has_gone_is_nobody),
        cmocka_unit_test(what_is_no_connection_is_nobody),
        cmocka_unit_test(kinds),
        cmocka_unit_test(the_own_user_is_never_refused),
        cmocka_unit_test(a_group_counts_for_the_service),
        cmocka_unit_test(subordinate_uids),
        cmocka_unit_test(one_listener_for_each_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
