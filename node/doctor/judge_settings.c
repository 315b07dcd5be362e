/* The rows that go by settings for the most part: class, bind, guest_os, tunnel. */
#include "base/loopback.h"
#include "doctor/verdict.h"

void judge_class(struct verdict *verdict)
{
    const struct identity_facts *identity = &verdict->facts->identity;
    enum config_class class = verdict->config->class;
    const char *word = config_class_word(class);
    if (class == CLASS_LAPTOP)
        verdict_fail(verdict, "class is laptop in node.toml, and a laptop may not lease; set class to "
                              "vm-guest or dedicated-server if this host is one");
    else if (class != CLASS_VM_GUEST && class != CLASS_DEDICATED_SERVER)
        verdict_fail(verdict, "class in node.toml is unknown; set it to vm-guest or dedicated-server");
    else if (identity->loaded != FACT_YES)
        verdict_fail(verdict, "class is %s, but the node has no identity: %s", word,
                     identity->error[0] ? identity->error : "its key was not looked at");
    else if (identity->settings != FACT_YES)
        verdict_fail(
            verdict,
            "class is %s, but this node no longer runs by its settings: %s; restart it, or put them back",
            word, identity->settings_error[0] ? identity->settings_error : "they were not looked at");
    else
        verdict_pass(verdict, "class is %s, node %.8s", word, identity->node_id);
}

void judge_bind(struct verdict *verdict)
{
    const char *bind = verdict->config->bind;
    if (bind && loopback_address(bind))
        verdict_pass(verdict, "the node listens on %s, which only this host reaches", bind);
    else
        verdict_fail(verdict,
                     "bind is %s, which is not a loopback address; set bind to 127.0.0.1 or ::1 and reach "
                     "the node through a tunnel",
                     bind ? bind : "not set");
}

void judge_guest_os(struct verdict *verdict)
{
    if (verdict->config->guest_os == GUEST_OS_LINUX)
        verdict_pass(verdict, "guests run Linux");
    else
        verdict_fail(verdict, "guest_os is %s, and this node leases Linux only; set guest_os to linux",
                     config_guest_os_word(verdict->config->guest_os));
}

void judge_tunnel(struct verdict *verdict)
{
    if (verdict->facts->tunnel == FACT_YES)
        verdict_pass(verdict, "cloudflared is installed");
    else
        verdict_warn(verdict, "cloudflared is not in PATH: others reach this node only through a tunnel of "
                              "your own, as ssh -L; install cloudflared if you want it to be the tunnel");
}
