#include "doctor/record.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/text.h"
#include "config/settings.h"

static const char *const fact_words[] = {
    [FACT_UNKNOWN] = "unknown", [FACT_NO] = "no", [FACT_YES] = "yes", NULL};

static const char *const state_words[] = {[IMAGE_STATE_UNKNOWN] = "unknown",
                                          [IMAGE_STATE_MISSING] = "missing",
                                          [IMAGE_STATE_STALE] = "stale",
                                          [IMAGE_STATE_TAMPERED] = "tampered",
                                          [IMAGE_STATE_UNREADABLE] = "unreadable",
                                          [IMAGE_STATE_VERIFIED] = "verified",
                                          NULL};

#define FIELD(section, member, kind, ...)                                                                    \
    {                                                                                                        \
#section,                                                                                            \
        {                                                                                                    \
#member, kind, MEMBER_AT(struct facts, section.member), __VA_ARGS__                              \
        }                                                                                                    \
    }
#define FACT(section, member)    FIELD(section, member, MEMBER_WORD, .words = fact_words)
#define TEXT(section, member)    FIELD(section, member, MEMBER_TEXT)
#define INTEGER(section, member) FIELD(section, member, MEMBER_INTEGER, .min = INT64_MIN, .max = INT64_MAX)

static const struct record_field fields[] = {
    FACT(identity, loaded),
    TEXT(identity, node_id),
    TEXT(identity, error),
    FACT(identity, settings),
    TEXT(identity, settings_error),

    FACT(runtime, answers),
    FIELD(runtime, libvirt_version, RECORD_VERSION),
    FIELD(runtime, qemu_version, RECORD_VERSION),
    TEXT(runtime, arch),
    TEXT(runtime, emulator),
    TEXT(runtime, machine),
    FACT(runtime, video),
    FACT(runtime, graphics),
    FACT(runtime, channel),
    FACT(runtime, cpu),
    FACT(runtime, converts),
    TEXT(runtime, error),
    TEXT(runtime, security_models),
    FACT(runtime, user_known),
    INTEGER(runtime, user_uid),
    TEXT(runtime, user),
    FACT(runtime, own_users),

    FACT(kvm, device),
    FACT(kvm, cpu_flag),
    FACT(kvm, module),
    FACT(kvm, virtual_host),
    FACT(kvm, opens_for_us),
    FACT(kvm, opens_for_qemu),
    TEXT(kvm, user),
    TEXT(kvm, group),
    FIELD(kvm, mode, RECORD_MODE),
    INTEGER(kvm, api_version),
    FACT(kvm, loop_ran),
    INTEGER(kvm, loop_turns),
    INTEGER(kvm, loop_ns),
    TEXT(kvm, error),

    FIELD(image, state, MEMBER_WORD, .words = state_words),
    TEXT(image, name),
    TEXT(image, manifest_sha256),
    FACT(image, test_only),
    FACT(image, readable_by_qemu),
    TEXT(image, error),
    TEXT(image, readable_error),

    FACT(domain, inspected),
    FACT(domain, sandboxed),
    TEXT(domain, error),

    FACT(canary, started),
    FACT(canary, gone),
    FACT(canary, uid_known),
    INTEGER(canary, uid),
    FACT(canary, seccomp),
    FACT(canary, no_new_privs),
    FACT(canary, labelled),
    TEXT(canary, label),
    FACT(canary, own_mounts),
    FACT(canary, no_sockets),
    TEXT(canary, error),
    TEXT(canary, sockets_error),
    INTEGER(canary, took_ms),

    INTEGER(capacity, cpus),
    TEXT(capacity, cpu_limit),
    FACT(capacity, given_known),
    INTEGER(capacity, vcpu_given),
    INTEGER(capacity, idle_permille),
    INTEGER(capacity, mem_free_mib),
    TEXT(capacity, mem_limit),
    INTEGER(capacity, own_mem_mib),
    INTEGER(capacity, own_leases),
    INTEGER(capacity, parked),
    INTEGER(capacity, parked_mem_mib),
    INTEGER(capacity, saved_states),
    INTEGER(capacity, disk_free_mib),
    TEXT(capacity, disk_path),

    INTEGER(chassis, dmi_type),
    TEXT(chassis, product),
    FACT(chassis, hypervisor),
    FACT(chassis, battery),
    FACT(chassis, lid),
    TEXT(chassis, battery_name),

    FACT(network, wireless),
    TEXT(network, device),
    TEXT(network, error),
    FACT(network, sleeps),
    TEXT(network, sleep_states),

    {NULL, {"tunnel", MEMBER_WORD, MEMBER_AT(struct facts, tunnel), .words = fact_words}},
};

const struct record_field *record_fields(size_t *count)
{
    *count = sizeof fields / sizeof fields[0];
    return fields;
}

static json_t *encode_field(const struct member *member, const struct facts *facts)
{
    const void *slot = (const char *)facts + member->offset;
    CLEANUP_FREE char *text = NULL;
    switch (member->kind) {
    case RECORD_MODE:
        text = text_format("%04o", *(const unsigned *)slot);
        return json_string(text);
    case RECORD_VERSION:
        text = text_version(*(const unsigned long *)slot);
        return json_string(text);
    default:
        return member_encode(member, facts);
    }
}

static json_t *encode_config(const struct config *config)
{
    size_t count;
    const struct config_key *keys = config_keys(&count);
    json_t *document = json_object();
    for (size_t i = 0; i < count; i++)
        json_object_set_new(document, keys[i].member.name, member_encode(&keys[i].member, config));
    return document;
}

json_t *record_encode(const struct config *config, enum config_intent intent, bool deep,
                      const struct facts *facts)
{
    char time[CLOCK_TEXT_SIZE];
    clock_format(facts->time_ms, time);
    json_t *sections = json_object();
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const char *section = fields[i].section;
        if (section && !json_object_get(sections, section))
            json_object_set_new(sections, section, json_object());
        json_object_set_new(section ? json_object_get(sections, section) : sections, fields[i].member.name,
                            encode_field(&fields[i].member, facts));
    }
    json_object_set_new(json_object_get(sections, "image"), "labels",
                        facts->image.labels ? json_deep_copy(facts->image.labels) : json_null());
    json_t *document = json_pack("{s:s, s:s, s:s, s:s, s:b, s:o, s:o}", "schema", RECORD_SCHEMA, "version",
                                 BERTHOS_VERSION, "recordedAt", time, "intent", config_intent_word(intent),
                                 "deep", deep, "config", encode_config(config), "facts", sections);
    if (!document)
        abort();
    return document;
}
