#!/usr/bin/env python3
"""Measures the boot of the desktop as a timeline: when, after the create was asked for, each part of it has begun.

    tests/bench/boot.py [--rounds N] [--json]

It prints the table of docs/IMAGE.md, "Measured". The environment is that of the live tests (tests/live/berthos_live.py).
Each lease is cold; its guest is asked through its agent, when it is live, what its kernel and its systemd noted. Absolute
times speak of this machine at this minute.
"""

import argparse
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import berthos_live as live  # noqa: E402
from measure import quantile  # noqa: E402

# systemd's own names for moments, in microseconds of the guest's clock since its kernel began.
UNITS = (("Chromium is started, and waits for X", "berthos-browser.service", "ExecMainStartTimestampMonotonic"),
         ("openbox is started, and waits for X", "berthos-windows.service", "ExecMainStartTimestampMonotonic"),
         ("Xorg is started", "berthos-x.service", "ExecMainStartTimestampMonotonic"),
         ("the start page is drawn", "berthos-ready.service", "ActiveEnterTimestampMonotonic"),
         ("the agent is started", "berthos-agent.service", "ExecMainStartTimestampMonotonic"))
# The kernel's last words before the initramfs (linux/init/main.c, run_init_process).
LAST_WORDS = re.compile(r"\[ *([0-9.]+)\] Run /init as init process")


def shell(domain, script):
    code, out, err = live.guest_run(domain, "/bin/sh", "-c", script, seconds=120)
    assert code == 0, err
    return out


def process_started(pid):
    """When a process of this host was started, as time.time() would have said."""
    with open("/proc/%d/stat" % pid) as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")


def kernel_began(domain):
    """When the guest's clock began, by the host's: the earliest of some answers is the least delayed."""
    def once():
        up = float(live.guest_read(domain, "/proc/uptime", 64).split()[0])
        return time.time() - up
    return min(once() for _ in range(5))


def moments(domain):
    """What the guest noted: seconds of its own clock, by what began then."""
    kernel = shell(domain, "dmesg")
    found = {"the kernel starts the initramfs": float(LAST_WORDS.search(kernel).group(1))}
    value = shell(domain, "systemctl show --value -p UserspaceTimestampMonotonic")
    found["systemd starts"] = int(value) / 1e6
    for what, unit, name in UNITS:
        found[what] = int(shell(domain, "systemctl show --value -p %s %s" % (name, unit))) / 1e6
    return found


def measure_boot(node, api):
    """One cold lease; seconds since its create was asked for, by what had happened then."""
    asked = time.time()
    lease = api.lease()
    answered = time.time() - asked
    domain = node.domain()
    zero = kernel_began(domain) - asked
    rows = {"QEMU is started": process_started(live.qemu_pid(domain)) - asked,
            "QEMU and firmware are done, the kernel starts": zero}
    rows.update((what, zero + seconds) for what, seconds in moments(domain).items())
    rows["the create is answered"] = answered
    api.delete("/v1/leases/" + lease["id"])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="how many cold leases; the table has the medians")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    node = live.Node(image="berthos-linux-desktop:v1", vcpu=2, mem_gib=4, warm="off")
    try:
        node.start()
        api = node.paired()
        api.seconds = 600
        boots = [measure_boot(node, api) for _ in range(options.rounds)]
    finally:
        node.clean_up()
    rows = {what: round(quantile([boot[what] for boot in boots], 0.5), 2) for what in boots[0]}
    if options.json:
        print(json.dumps({"cpus": os.cpu_count(), "accel": live.ACCEL, "load_before": load, "median_s": rows,
                          "boots": boots}, indent=2))
        return
    print("%d CPUs, %s, load %.1f before; medians of %d boots\n" % (os.cpu_count(), live.ACCEL, load, len(boots)))
    print("| s after the create was asked for | | takes, s |\n|---|---|---|")
    ordered = sorted(rows.items(), key=lambda row: row[1])
    for (what, seconds), (_, following) in zip(ordered, ordered[1:] + [(None, None)]):
        print("| %.2f | %s | %s |" % (seconds, what, "" if following is None else "%.2f" % (following - seconds)))


if __name__ == "__main__":
    main()
