#include "node.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/audit.h"
#include "base/file.h"
#include "base/log.h"
#include "base/loopback.h"
#include "base/notify.h"
#include "base/text.h"
#include "config/home.h"
#include "config/identity.h"
#include "config/url.h"
#include "doctor/eligibility.h"
#include "guest/hypervisor.h"
#include "guest/spec.h"
#include "http/http.h"
#include "lease/leases.h"
#include "pairing/pairing.h"

/* A half-written file of the home that is so old is of a process that was killed: the command writes there
 * too. */
enum { STALE_MS = 3600 * 1000 };

/* The user of the packaged service; members of its group are operators. */
static const char package_user[] = "berthos";

CLEANUP_DEFINE(eligibility, struct eligibility *, eligibility_free);
CLEANUP_DEFINE(leases, struct leases *, leases_close);

static int refuse_non_loopback(const char *address, struct error *err)
{
    if (!address || loopback_address(address))
        return 0;
    return error_set(
        err, ERROR_CONFIG,
        "refusing to listen on %s: a node listens on loopback only (127.0.0.0/8 or ::1); to reach it "
        "from elsewhere use an SSH tunnel",
        address);
}

/* Holds the home for this process; the lock goes with it, however it ends. */
static int lock_home(const char *home, struct error *err)
{
    CLEANUP_FREE char *path = file_join(home, "node.lock");
    CLEANUP_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    char text[32] = "";
    if (fd < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        ssize_t got = pread(fd, text, sizeof text - 1, 0);
        text[got > 0 ? strcspn(text, "\n") : 0] = '\0';
        return error_set(err, ERROR_INTERNAL, "another node already runs on %s (process %s); stop it first",
                         home, text[0] ? text : "unknown");
    }
    snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) < 0 || pwrite(fd, text, strlen(text), 0) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot write %s", path);
    return TAKE_FD(fd);
}

static void audit_start(struct audit *audit, const struct config *config)
{
    audit_write(audit, "node_start",
                json_pack("{s:s, s:s}", "version", BERTHOS_VERSION, "image", config->image));
}

static void announce_start(const struct config *config, const struct web_server *server, const char *bind,
                           struct pairing *pairing)
{
    char code[PAIRING_CODE_SIZE];
    CLEANUP_FREE char *url = url_make(bind, web_server_port(server));
    pairing_code(pairing, code);
    if (config->accel == ACCEL_TCG)
        log_warning("node", "accel is tcg: guests run under software emulation, for development only");
    printf("node      %s\n", url);
    printf("image     %s\n", config->image);
    /* The journal keeps what it is given, and members of groups that are no operators read it. */
    bool journalled = getenv("JOURNAL_STREAM") && !isatty(STDOUT_FILENO);
    printf("pairing   %s   (on this host: berth pair)\n", journalled ? "by an operator" : code);
    fflush(stdout);
    explicit_bzero(code, sizeof code);
    notify_state("READY=1");
}

/* Everything that signals would interrupt is behind us once threads run: only this thread takes them. */
static void block_signals(sigset_t *stop)
{
    sigemptyset(stop);
    sigaddset(stop, SIGINT);
    sigaddset(stop, SIGTERM);
    sigaddset(stop, SIGHUP);
    pthread_sigmask(SIG_BLOCK, stop, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD,
           SIG_DFL); /* whoever started us may have ignored it, and then no child can be waited for */
}

static void wait_for_stop(const sigset_t *stop)
{
    int number;
    while (sigwait(stop, &number) != 0)
        continue;
    log_info("node", "stopping on %s", strsignal(number));
    notify_state("STOPPING=1");
    /* a second signal ends the process at once: whoever insists is not made to wait */
    pthread_sigmask(SIG_UNBLOCK, stop, NULL);
}

/* A red node does not start, unless tenants wait for it: they were promised their leases. */
static int refuse_red(struct eligibility *eligibility, const char *home, struct error *err)
{
    struct eligibility_answer answer;
    eligibility_ask(eligibility, 0, &answer);
    json_decref(answer.document);
    if (answer.ok)
        return 0;
    if (leases_left(home)) {
        log_warning("node",
                    "the doctor refuses this node (%s): the leases that are live go on, and there are no new "
                    "ones",
                    answer.why);
        return 0;
    }
    return error_set(err, ERROR_INELIGIBLE, "the doctor refuses this node (%s); see: berth doctor",
                     answer.why);
}

/* First nobody comes any more, then the leases, then what is still being answered. */
static void stop_serving(struct web_server *server, struct leases *leases, bool end_leases)
{
    web_server_quiesce(server);
    leases_stop(leases, end_leases);
    web_server_stop(server);
}

static int serve_requests(const struct config *config, const struct node_options *options,
                          const sigset_t *stop, struct error *err)
{
    struct identity identity;
    enum config_intent intent = options->intent ? *options->intent : config->intent;
    const char *bind = options->bind ? options->bind : config->bind;
    struct peer_policy peers = guest_peers(package_user);
    if (identity_load(config->home, &identity, err) < 0)
        return -1;
    CLEANUP_HYPERVISOR struct hypervisor *hypervisor = hypervisor_new(config->libvirt_uri, err);
    if (!hypervisor)
        return -1;
    CLEANUP(cleanup_eligibility)
    struct eligibility *eligibility = eligibility_new(config, intent, hypervisor);
    if (refuse_red(eligibility, config->home, err) < 0)
        return -1;
    CLEANUP(cleanup_pairing) struct pairing *pairing = pairing_open(config->home, err);
    if (!pairing)
        return -1;
    CLEANUP(cleanup_audit) struct audit *audit = audit_open(config->home, err);
    CLEANUP_FREE char *view_assets = audit ? file_shared("view", err) : NULL;
    if (!view_assets)
        return -1;
    CLEANUP(cleanup_leases)
    struct leases *leases = leases_open(&(struct leases_options){.config = config,
                                                                 .node_id = identity.node_id,
                                                                 .hypervisor = hypervisor,
                                                                 .eligibility = eligibility,
                                                                 .pairing = pairing,
                                                                 .view_assets = view_assets,
                                                                 .peers = &peers,
                                                                 .audit = audit},
                                        err);
    if (!leases)
        return -1;
    struct http_context context = {.config = config,
                                   .bind = bind,
                                   .peers = &peers,
                                   .eligibility = eligibility,
                                   .pairing = pairing,
                                   .leases = leases,
                                   .audit = audit};
    uint16_t port = (uint16_t)(options->port >= 0 ? options->port : config->port);
    struct web_server *server = http_server_start(&context, port, err);
    if (!server) {
        leases_stop(leases, options->end_leases_on_stop);
        return -1;
    }
    audit_start(audit, config);
    announce_start(config, server, bind, pairing);
    wait_for_stop(stop);
    stop_serving(server, leases, options->end_leases_on_stop);
    audit_write(audit, "node_stop", NULL);
    return 0;
}

int node_run(const struct node_options *options, struct error *err)
{
    sigset_t stop;
    log_set_level(log_level_from_environment(LOG_LEVEL_INFO));
    if (refuse_non_loopback(options->bind, err) < 0)
        return -1;
    CLEANUP_FREE char *home = config_home();
    if (config_make_home(home, err) < 0)
        return -1;
    CLEANUP_CONFIG struct config *config = config_load(home, err);
    if (!config || config_write_default(home, err) < 0 ||
        refuse_non_loopback(options->bind ? NULL : config->bind, err) < 0)
        return -1;
    block_signals(&stop);
    CLEANUP_CLOSE int lock = lock_home(home, err);
    if (lock < 0)
        return -1;
    file_sweep(home, STALE_MS);
    return serve_requests(config, options, &stop, err);
}
