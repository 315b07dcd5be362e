/*
 * What the probes found. A plain struct without owned pointers: it may be copied and changed freely. All zero
 * means that nothing is known, and nothing unknown ever passes.
 */
#ifndef BERTHOS_DOCTOR_FACTS_H
#define BERTHOS_DOCTOR_FACTS_H

#include <jansson.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/member.h"

enum { FACT_TEXT = 640, FACT_WORD = 128 };

enum fact { FACT_UNKNOWN = 0, FACT_NO, FACT_YES };

struct identity_facts {
    enum fact loaded;
    char node_id[DIGEST_HEX_SIZE];
    char error[FACT_TEXT];
    enum fact settings; /* node.toml still says what this process read from it */
    char settings_error[FACT_TEXT];
};

struct runtime_facts {
    enum fact answers;                           /* libvirt, at libvirt_uri */
    unsigned long libvirt_version, qemu_version; /* major * 1000000 + minor * 1000 + release */
    char arch[FACT_WORD];
    char emulator[FACT_WORD];                /* "" when there is none */
    char machine[FACT_WORD];                 /* canonical q35; "" when there is none */
    enum fact video, graphics, channel, cpu; /* offered by the domain capabilities */
    enum fact converts;                      /* a lease's domain became QEMU's arguments */
    char error[FACT_TEXT];
    char security_models[FACT_WORD]; /* "apparmor dac" */
    enum fact user_known;            /* who QEMU runs as */
    int64_t user_uid;
    char user[FACT_WORD]; /* "libvirt-qemu (uid 64055)" */
    enum fact own_users;  /* each berth's QEMU runs as a user that no other has; that above is the first's */
};

struct kvm_facts {
    enum fact device;       /* /dev/kvm is there and a character device */
    enum fact cpu_flag;     /* vmx or svm */
    enum fact module;       /* kvm_intel or kvm_amd is loaded (or built in) */
    enum fact virtual_host; /* this host is a guest itself */
    enum fact opens_for_us;
    enum fact opens_for_qemu; /* for the user that QEMU runs as under KVM, with its groups */
    char user[FACT_WORD];     /* "libvirt-qemu (uid 64055)"; "" unknown */
    char group[FACT_WORD];    /* of the device */
    unsigned mode;            /* its permission bits */
    int64_t api_version;
    enum fact loop_ran; /* a vCPU ran the timed loop to its end */
    int64_t loop_turns, loop_ns;
    char error[FACT_TEXT];
};

enum image_state {
    IMAGE_STATE_UNKNOWN = 0,
    IMAGE_STATE_MISSING,
    IMAGE_STATE_STALE,
    IMAGE_STATE_TAMPERED,
    IMAGE_STATE_UNREADABLE,
    IMAGE_STATE_VERIFIED
};

struct image_facts {
    enum image_state state;
    char name[FACT_WORD];
    char manifest_sha256[DIGEST_HEX_SIZE];
    const json_t *labels; /* borrowed from the image, NULL without one */
    enum fact test_only;
    enum fact readable_by_qemu; /* every file, along its whole path */
    char error[FACT_TEXT];      /* of the open */
    char readable_error[FACT_TEXT];
};

struct domain_facts {
    enum fact inspected; /* the rendered XML of a lease passed the allow-list */
    enum fact sandboxed; /* QEMU's arguments switch its seccomp filter on */
    char error[FACT_TEXT];
};

struct canary_facts {
    enum fact started; /* and its live XML passed the allow-list */
    enum fact gone;    /* destroyed again */
    enum fact uid_known;
    int64_t uid;
    enum fact seccomp, no_new_privs; /* /proc/PID/status */
    enum fact labelled;              /* enforced label of AppArmor or SELinux */
    char label[FACT_WORD];
    enum fact own_mounts; /* a mount namespace of its own */
    enum fact no_sockets; /* no internet or packet socket, no tap */
    char error[FACT_TEXT];
    char sockets_error[FACT_TEXT];
    int64_t took_ms;
};

struct capacity_facts {
    int64_t cpus;              /* whole CPUs that guests may use; 0 unknown */
    char cpu_limit[FACT_WORD]; /* what made it less than the host's: "the cgroup's quota" */
    enum fact given_known;
    int64_t vcpu_given;    /* vCPUs of running domains that are not this node's */
    int64_t idle_permille; /* measured idle share of the host's CPUs; negative unknown. Shown only */
    int64_t mem_free_mib;  /* MemAvailable or what the cgroup leaves; 0 unknown */
    char mem_limit[FACT_WORD];
    int64_t own_mem_mib;   /* what this node's own guests hold: it counts as free */
    int64_t own_leases;    /* how many of them are a lease's */
    int64_t spares;        /* and how many wait for one */
    int64_t spare_mem_mib; /* what these hold, of own_mem_mib */
    int64_t saved_states;  /* of this node's berths that are there on disk */
    int64_t disk_free_mib; /* 0 unknown */
    char disk_path[FACT_TEXT];
    char disk_fault[FACT_TEXT]; /* why no overlay can be made or opened there, room or not; "": nothing is
                                   known */
};

struct chassis_facts {
    int64_t dmi_type; /* SMBIOS 3.6, table 17; 0 unknown */
    char product[FACT_WORD];
    enum fact hypervisor; /* the CPU says that this host is a guest */
    enum fact battery, lid;
    char battery_name[FACT_WORD];
};

struct network_facts {
    enum fact wireless; /* a default route goes over radio */
    char device[FACT_WORD];
    char error[FACT_TEXT];
    enum fact sleeps; /* the kernel can suspend and nothing forbids it */
    char sleep_states[FACT_WORD];
};

struct facts {
    int64_t time_ms; /* realtime, when probing ended */
    struct identity_facts identity;
    struct runtime_facts runtime;
    struct kvm_facts kvm;
    struct image_facts image;
    struct domain_facts domain;
    struct canary_facts canary;
    struct capacity_facts capacity;
    struct chassis_facts chassis;
    struct network_facts network;
    enum fact tunnel;
};

/*
 * Rows of the tables by which a recording names what was found (record.h). Each stands beside the probe that
 * finds it, so that a new fact is a member here, and a row there.
 */
#define FACT_ROW(name, kind, section, member, ...)                                                           \
    {                                                                                                        \
        name, kind, MEMBER_AT(struct facts, section.member), __VA_ARGS__                                     \
    }
#define FACT_IS(section, member)        FACT_ROW(#member, MEMBER_WORD, section, member, .words = fact_words)
#define FACT_SAYS(section, member)      FACT_ROW(#member, MEMBER_TEXT, section, member, .min = 0)
#define FACT_OWN(section, member, kind) FACT_ROW(#member, kind, section, member, .min = 0)
#define FACT_COUNTS(section, member)                                                                         \
    FACT_ROW(#member, MEMBER_INTEGER, section, member, .min = INT64_MIN, .max = INT64_MAX)
#define FACT_ROWS_END                                                                                        \
    {                                                                                                        \
        .name = NULL                                                                                         \
    }

/* Kinds that only facts have. */
enum {
    FACT_MODE = MEMBER_OWN, /* unsigned: permission bits, in octal as text */
    FACT_VERSION,           /* unsigned long: "9.0.0" */
};

/* The words of an enum fact, ended by NULL. */
extern const char *const fact_words[];

#endif
