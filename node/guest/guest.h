/*
 * One running guest: a transient domain, started with VALIDATE and inspected before anybody uses it, its
 * agent, its display's descriptor, and its end.
 */
#ifndef BERTHOS_GUEST_GUEST_H
#define BERTHOS_GUEST_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "guest/handle.h"
#include "guest/hypervisor.h"
#include "guest/spec.h"

/*
 * Starts the domain of `spec` (paused: with its vCPUs stopped), reads its live XML back and inspects it. When
 * the inspection finds a difference the domain is destroyed. guest: its uuid is spec's; its run is noted. 0,
 * or -1 with ERROR_GUEST_FAILED or ERROR_HYPERVISOR, and nothing is left running.
 */
int guest_start(struct guest *guest, const struct guest_spec *spec, bool paused, int64_t timeout_ms,
                struct error *err);

/*
 * Destroys the guest and returns when libvirt no longer knows it; one that is gone is fine.
 * -1 with ERROR_ENDING when it is still there at the deadline: call again.
 */
int guest_destroy(const struct guest *guest, int64_t timeout_ms, struct error *err);

enum guest_state { GUEST_GONE, GUEST_RUNNING, GUEST_PAUSED, GUEST_PAUSED_IO_ERROR, GUEST_STOPPED };

/* What libvirt says of the guest; GUEST_GONE also where another has its UUID by now. */
int guest_state(const struct guest *guest, int64_t timeout_ms, enum guest_state *state, struct error *err);

/* Stops the guest's vCPUs, or lets them go on; one that stands or runs already is fine. ERROR_GUEST_FAILED.
 */
int guest_pause(const struct guest *guest, int64_t timeout_ms, struct error *err);
int guest_resume(const struct guest *guest, int64_t timeout_ms, struct error *err);

/*
 * Makes a guest that was started for nobody (lease "" in its metadata) the lease's: its metadata names the
 * lease, and its vCPUs go on if they stood. Both ids are as in guest_spec.
 */
int guest_claim(const struct guest *guest, const char *node_id, const char *lease_id, int64_t timeout_ms,
                struct error *err);

/* How much CPU time QEMU has used for the guest since its start, microseconds. */
int guest_cpu_time(const struct guest *guest, int64_t timeout_ms, int64_t *cpu_us, struct error *err);

/* Sets the guest's clock to the host's, through its agent. */
int guest_set_clock(const struct guest *guest, int64_t timeout_ms, struct error *err);

/*
 * Inspects a guest that an earlier run of the node has started, as guest_start() does, and notes its run.
 * spec: what is known of it by the record alone (name, uuid, node_id, lease_id, kvm, system, vcpu, mem_mib,
 * overlay, console_log); what an image and a hypervisor decided then is taken from the domain itself, the
 * image's files from `image_dir` only, and a golden disk in its chain from `golden_dir` only.
 * ERROR_GUEST_FAILED with the first difference.
 */
int guest_inspect_again(struct guest *guest, const struct guest_spec *spec, const char *image_dir,
                        const char *golden_dir, int64_t timeout_ms, struct error *err);

/*
 * Saves a guest, running or paused, with its memory to the file `path` (virDomainSaveFlags), and returns when
 * the domain is gone: its watcher hears of that as of any other end. The file has mode 0600 from birth and is
 * root's, the daemon's user's or ours; it appears at `path` whole or not at all. Whatever state the guest was
 * in, a restore of it runs. -1 with ERROR_INTERNAL when something is at `path` already, ERROR_NOT_FOUND when
 * there is no such guest, ERROR_GUEST_FAILED or ERROR_HYPERVISOR: then no file is left, also when the save
 * comes to its end after timeout_ms, and the guest may or may not be there: destroy it.
 */
int guest_save(const struct guest *guest, const char *path, int64_t timeout_ms, struct error *err);

/*
 * Runs the guest of a saved state: as guest_start() but from `state` (of guest_save()), which it leaves as it
 * is. spec: as for guest_start(); name, uuid, shape, image and host must be those of the save, while overlay,
 * golden, base, console_log, lease_id and qemu_label are this guest's. What the state says about its domain
 * is inspected before anything runs, and the live domain again. 0, or -1 with ERROR_GUEST_FAILED or
 * ERROR_HYPERVISOR, and nothing is left running.
 */
int guest_restore(struct guest *guest, const struct guest_spec *spec, const char *state, int64_t timeout_ms,
                  struct error *err);

/* 0 when the guest agent answers a ping within timeout_ms; -1 with ERROR_GUEST_FAILED when it does not. */
int guest_agent_ping(const struct guest *guest, int64_t timeout_ms, struct error *err);

/* Waits until the agent is connected and answers, or the deadline, or the guest is gone (ERROR_GUEST_FAILED).
 */
int guest_agent_wait(const struct guest *guest, int64_t deadline_ms, struct error *err);

/* Sends one agent command (JSON) and gives its answer's text (*owned*, at most 16 MiB). The answer is
 * untrusted. */
char *guest_agent_command(const struct guest *guest, const char *command, int64_t timeout_ms,
                          struct error *err);

/*
 * A descriptor of its own for the guest's VNC server (virDomainOpenGraphicsFD with SKIPAUTH): nothing listens
 * on an address. The descriptor is *owned* by the caller. -1 with ERROR_GUEST_FAILED or ERROR_HYPERVISOR.
 */
int guest_open_display(const struct guest *guest, int64_t timeout_ms, struct error *err);

/* The pid of the domain's QEMU, from libvirt's pid file folder or /proc; 0 when it cannot be told. */
pid_t guest_process(const char *uuid);

/* A domain that carries our metadata. Strings are owned. */
struct guest_owned {
    struct guest guest;
    char *name;
    char *node_id;
    char *lease_id;        /* "" when it was not leased */
    int64_t vcpu, mem_mib; /* its shape; 0 when it could not be told */
};

/* Lists the domains whose metadata names node_id; foreign domains are never listed. *list is *owned*. */
int guest_list_owned(struct hypervisor *hypervisor, const char *node_id, int64_t timeout_ms,
                     struct guest_owned **list, size_t *count, struct error *err);
void guest_list_free(struct guest_owned *list, size_t count);

/*
 * Who is told what happens to domains; functions are called on libvirt's event thread and must not block or
 * call libvirt.
 */
struct guest_watcher {
    void *context;
    void (*gone)(void *context, const char *uuid); /* a domain stopped, for any reason */
    /* The CPUs of this run of a domain stand, or go on. why: static, the end of a sentence; NULL: they run.
     */
    void (*paused)(void *context, const char *uuid, int run, const char *why);
};

/* Why a domain's CPUs stand, in words: by its operator's wish, and by an error of its disk. */
#define GUEST_WHY_PAUSED   "the host's operator paused it"
#define GUEST_WHY_IO_ERROR "its disk failed, most likely because the host's disk is full"

/* Registers the one watcher of this process (copied); kept over reconnects. NULL ends it. */
void guest_watch(struct hypervisor *hypervisor, const struct guest_watcher *watcher);

#endif
