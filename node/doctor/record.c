#include "doctor/record.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/text.h"
#include "config/settings.h"
#include "doctor/examine.h"
#include "doctor/probe_canary.h"
#include "doctor/probe_capacity.h"
#include "doctor/probe_chassis.h"
#include "doctor/probe_domain.h"
#include "doctor/probe_image.h"
#include "doctor/probe_kvm.h"
#include "doctor/probe_network.h"
#include "doctor/probe_runtime.h"

const struct record_section record_sections[] = {
    {"identity", examine_identity_members},
    {"runtime", probe_runtime_members},
    {"kvm", probe_kvm_members},
    {"image", probe_image_members},
    {"domain", probe_domain_members},
    {"canary", probe_canary_members},
    {"capacity", probe_capacity_members},
    {"chassis", probe_chassis_members},
    {"network", probe_network_members},
    {NULL, examine_tunnel_members},
    {NULL, NULL},
};

static json_t *encode_fact(const struct member *member, const struct facts *facts)
{
    const void *slot = (const char *)facts + member->offset;
    CLEANUP_FREE char *text = NULL;
    switch (member->kind) {
    case FACT_MODE:
        text = text_format("%04o", *(const unsigned *)slot);
        return json_string(text);
    case FACT_VERSION:
        text = text_version(*(const unsigned long *)slot);
        return json_string(text);
    default:
        return member_encode(member, facts);
    }
}

static json_t *encode_config(const struct config *config)
{
    json_t *document = json_object();
    for (const struct config_key *key = config_keys; key->member.name; key++)
        json_object_set_new(document, key->member.name, member_encode(&key->member, config));
    return document;
}

json_t *record_encode(const struct config *config, enum config_intent intent, bool deep,
                      const struct facts *facts)
{
    char time[CLOCK_TEXT_SIZE];
    clock_format(facts->time_ms, time);
    json_t *sections = json_object();
    for (const struct record_section *section = record_sections; section->members; section++) {
        json_t *facts_of = section->name ? json_object() : sections;
        for (const struct member *member = section->members; member->name; member++)
            json_object_set_new(facts_of, member->name, encode_fact(member, facts));
        if (section->name)
            json_object_set_new(sections, section->name, facts_of);
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
