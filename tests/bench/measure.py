"""What the measuring programs share: times and their spread, and what a process costs. Figures speak of this machine at
this minute."""

import os
import time


def quantile(values, share):
    """The value below which this share of the values lies (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def timed(action):
    """Milliseconds that action() takes."""
    begun = time.monotonic()
    action()
    return 1000 * (time.monotonic() - begun)


def spread(values):
    """Of times in milliseconds: median, 99th percentile, and of how many."""
    return {"p50_ms": round(quantile(values, 0.5), 2), "p99_ms": round(quantile(values, 0.99), 2), "n": len(values)}


def memory_kib(pid):
    with open("/proc/%d/smaps_rollup" % pid) as file:
        fields = {line.split(":")[0]: int(line.split()[1]) for line in file if line.endswith("kB\n")}
    return {"resident_kib": fields["Rss"], "private_dirty_kib": fields["Private_Dirty"]}


def switches(pid):
    """How often the threads of a process have been given the processor, for whatever reason."""
    count = 0
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, task)) as file:
            count += sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
    return count
