#!/usr/bin/env python3
"""Measures instant berths: how long a lease takes to be live and to be gone by each value of `warm`, and what a
prepared guest costs while it waits. Beside it, in the same run, what a person would do by hand with virsh.

    tests/bench/warm.py [--part PART,...] [--leases N] [--desktop N] [--json]

It prints the tables of docs/PERFORMANCE.md, "Instant berths"; with the defaults it takes about twelve minutes on two
cores under emulation. The environment is that of the live tests (tests/live/berthos_live.py). Absolute times speak of this
machine at this minute. On a host with KVM:

    BERTHOS_TEST_ACCEL=kvm BERTHOS_TEST_IMAGES=DIR tests/bench/warm.py --leases 50 --desktop 50
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import berthos_live as live  # noqa: E402
from measure import memory_kib, quantile, spread, timed  # noqa: E402

DESKTOP = "berthos-linux-desktop:v1"
SHAPES = {live.TEST_GUEST: {"vcpu": 1, "mem_gib": 1}, DESKTOP: {"vcpu": 2, "mem_gib": 3}}
NAMES = {live.TEST_GUEST: "test guest", DESKTOP: "desktop"}
DISK_SIZE = "40G"  # what a lease has by default
# A picture whose question is younger is given out again (docs/ARCHITECTURE.md).
SHARED_SECONDS = 0.07
MODES = ("ram", "disk", "off")
BOOT_SECONDS = 600


def say(text):
    print(text, file=sys.stderr, flush=True)


class Running:
    """A node for some measuring, gone afterwards: `with Running(image, warm) as node`."""

    def __init__(self, image, warm, **more):
        self.node = live.Node(image=image, warm=warm, **dict(SHAPES[image], **more))
        self.warm = warm

    def __enter__(self):
        self.node.start()
        self.node.token = self.node.api.pair()
        return self

    def __exit__(self, *problem):
        self.node.clean_up()

    def api(self):
        api = self.node.api.with_token(self.node.token)
        api.seconds = BOOT_SECONDS
        return api

    def await_ready(self, n=0):
        if self.warm != "off":
            self.node.ready(n, BOOT_SECONDS)


# ---------------------------------------------------------------------------------------------- one by one


def measure_mode(image, warm, count):
    """Leases in turn, each of a prepared guest where there are any; every second guest is ended by `virsh destroy`."""
    times = {"create to live": [], "end to gone": [], "virsh destroy": [], "end to next ready": []}
    with Running(image, warm) as running:
        api = running.api()
        first = timed(running.await_ready)
        for turn in range(count):
            lease = []
            times["create to live"].append(timed(lambda: lease.append(api.lease())))
            path = "/v1/leases/" + lease[0]["id"]
            assert api.get(path + "/screenshot").status == 200
            name = running.node.domain()
            ended = time.monotonic()
            if turn % 2 == 0:
                times["end to gone"].append(timed(lambda: api.delete(path)))
            else:
                times["virsh destroy"].append(timed(lambda: live.virsh("destroy", name)))
                api.delete(path)
            if warm != "off" and turn + 1 < count:
                running.await_ready()
                times["end to next ready"].append(1000 * (time.monotonic() - ended))
    figures = {what: spread(values) for what, values in times.items() if values}
    if warm != "off":
        figures["start to first ready"] = {"p50_ms": round(first, 2), "p99_ms": round(first, 2), "n": 1}
    if times["virsh destroy"]:
        figures["end over virsh destroy"] = round(quantile(times["end to gone"], 0.5) /
                                                  quantile(times["virsh destroy"], 0.5), 2)
    return figures


# ---------------------------------------------------------------------------------------------- by hand


class ByHand:
    """The domain of a lease as a person would start it: the same XML, an overlay of its own, without the node."""

    NAME = "by-hand-of-bench-warm"

    def __init__(self, image):
        self.folder = tempfile.mkdtemp(prefix="by-hand.", dir=live.WORK)
        live.at_end(self.clean_up)
        os.chmod(self.folder, 0o711)
        self.overlay = os.path.join(self.folder, "overlay.qcow2")
        with Running(image, "off") as running:
            lease = running.api().lease()
            self.xml = self.adapt(live.domain_xml(running.node.domain()))
            running.api().delete("/v1/leases/" + lease["id"])

    def adapt(self, domain):
        """Other name, UUID and files; no metadata of ours, so that no node takes it for its own."""
        domain.attrib.pop("id", None)
        domain.find("name").text = self.NAME
        domain.remove(domain.find("uuid"))
        domain.remove(domain.find("metadata"))
        self.base = domain.find("devices/disk/backingStore/source").get("file")
        domain.find("devices/disk/source").set("file", self.overlay)
        for each in list(domain.iter("source")):
            if each.get("path", "").startswith("/") and each.get("path").endswith(".log"):
                each.set("path", os.path.join(self.folder, "console.log"))
        for each in domain.iter("log"):
            each.set("file", os.path.join(self.folder, "console.log"))
        for channel in domain.findall("devices/channel"):  # libvirt finds a path for its new name
            source = channel.find("source")
            if source is not None and channel.get("type") == "unix":
                channel.remove(source)
        path = os.path.join(self.folder, "domain.xml")
        live.ElementTree.ElementTree(domain).write(path)
        return path

    def boot(self):
        """One `virsh create`, and asking the agent until it answers; milliseconds to that. The guest runs then."""
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-b", self.base, "-F", "qcow2", self.overlay,
                        DISK_SIZE], check=True)
        os.chmod(self.overlay, 0o666)  # QEMU's user is another, and the XML has libvirt not give it away
        return timed(self.start_and_wait)

    def start_and_wait(self):
        live.virsh("create", self.xml)
        ping = ["virsh", "-q", "-c", "qemu:///system", "qemu-agent-command", self.NAME, '{"execute":"guest-ping"}']
        end = time.monotonic() + BOOT_SECONDS
        while subprocess.run(ping, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            assert time.monotonic() < end, "its agent never answered"

    def end(self):
        """Milliseconds of `virsh destroy`."""
        took = timed(lambda: live.virsh("destroy", self.NAME))
        os.unlink(self.overlay)
        return took

    def clean_up(self):
        live.virsh("destroy", self.NAME, check=False)
        live.shutil.rmtree(self.folder, ignore_errors=True)


def measure_by_hand(image, count):
    hand = ByHand(image)
    boots, ends = [], []
    try:
        for _ in range(count):
            boots.append(hand.boot())
            ends.append(hand.end())
    finally:
        hand.clean_up()
    return {"create to live": spread(boots), "virsh destroy": spread(ends)}


# ---------------------------------------------------------------------------------------------- while nobody asks


def measure_parked(image, warm, seconds):
    """What node and prepared guest use while nobody asks for anything."""
    with Running(image, warm) as running:
        running.await_ready()
        time.sleep(2)  # what the last request set in motion has ended
        processes = {"node": running.node.process.pid}
        for name in running.node.domains():
            processes["guest"] = live.qemu_pid(name)
        before = {what: live.cpu_seconds(pid) for what, pid in processes.items()}
        time.sleep(seconds)
        used = {what: live.cpu_seconds(pid) - before[what] for what, pid in processes.items()}
        figures = {what: dict(memory_kib(pid), cpu_percent=round(100 * used[what] / seconds, 2))
                   for what, pid in processes.items()}
        return dict(figures, seconds=seconds, on_disk_mib=disk_use_mib(running.node.state))


def disk_use_mib(folder):
    """What the files below a folder take on the disk."""
    blocks = sum(os.lstat(os.path.join(where, name)).st_blocks for where, _, names in os.walk(folder) for name in names)
    return round(blocks * 512 / (1 << 20), 1)


# ---------------------------------------------------------------------------------------------- several at once


class Tenant:
    """A lease and one connection that stays open, as an agent's does."""

    def __init__(self, running):
        self.api = running.api()
        self.times = {"create": [], "screenshot": [], "input": []}
        self.connection = http.client.HTTPConnection("127.0.0.1", running.node.port, timeout=BOOT_SECONDS)

    def create(self):
        self.times["create"].append(timed(lambda: setattr(self, "lease", self.api.lease())))

    def end(self):
        self.api.delete("/v1/leases/" + self.lease["id"])

    def request(self, method, what, body=None):
        headers = {"Authorization": "Bearer " + self.api.token, "Content-Type": "application/json"}
        path = "/v1/leases/%s/%s" % (self.lease["id"], what)
        self.connection.request(method, path, body and json.dumps(body), headers)
        answer = self.connection.getresponse()
        data = answer.read()
        assert answer.status == 200, (answer.status, data[:300])

    def work(self, rounds):
        """Moves and looks in turn; the guest's cross follows the pointer, so every picture is another one."""
        for turn in range(rounds):
            move = {"op": "move", "x": 20 + 31 * turn % 1200, "y": 20 + 17 * turn % 700}
            self.times["input"].append(timed(lambda: self.request("POST", "actions", move)))
            time.sleep(SHARED_SECONDS)
            self.times["screenshot"].append(timed(lambda: self.request("GET", "screenshot")))


def all_at_once(tenants, action):
    threads = [threading.Thread(target=action, args=(tenant,)) for tenant in tenants]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measure_at_once(count, warm, turns, rounds):
    """`count` test guests, their creates, looks and moves at the same time."""
    with Running(live.TEST_GUEST, warm, berths=count) as running:
        tenants = [Tenant(running) for _ in range(count)]
        for turn in range(turns):
            for n in range(count):
                running.await_ready(n)
            all_at_once(tenants, Tenant.create)
            for name in running.node.domains():
                live.TestGuest(name).ctl("mark", "on")
            all_at_once(tenants, lambda tenant: tenant.work(rounds))
            if turn + 1 < turns:
                all_at_once(tenants, Tenant.end)
    return {what: spread([value for tenant in tenants for value in tenant.times[what]]) for what in tenants[0].times}


# ---------------------------------------------------------------------------------------------- tables


def cell(figure):
    """p50 / p99 of a spread, in the unit that suits."""
    if figure is None:
        return ""
    if not isinstance(figure, dict):
        return "%.2f" % figure
    low, high = figure["p50_ms"], figure["p99_ms"]
    if low >= 1000:
        return "%.2f / %.2f s (%d)" % (low / 1000, high / 1000, figure["n"])
    return "%.1f / %.1f ms (%d)" % (low, high, figure["n"])


def table(header, rows):
    print("| %s |" % " | ".join(header))
    print("|%s" % ("---|" * len(header)))
    for row in rows:
        print("| %s |" % " | ".join(row))
    print()


ROWS = ("create to live", "end to gone", "virsh destroy", "end over virsh destroy", "end to next ready",
        "start to first ready")


def print_modes(modes):
    for image, columns in modes.items():
        print("%s, p50 / p99 (of how many)\n" % NAMES[image])
        table(["", *columns], [[row, *(cell(column.get(row)) for column in columns.values())] for row in ROWS])


def print_parked(parked):
    rows = []
    for name, figures in parked.items():
        for what in ("node", "guest"):
            one = figures.get(what)
            rows.append([name, what, "%.2f %%" % one["cpu_percent"], "%.1f MB" % (one["resident_kib"] / 1024),
                         "%.1f MB" % (one["private_dirty_kib"] / 1024)] if one else [name, what, "none runs", "", ""])
        rows.append([name, "on disk", "", "%.1f MiB" % figures["on_disk_mib"], ""])
    table(["while parked", "", "CPU over %g s" % figures["seconds"], "resident", "private and dirty"], rows)


def print_at_once(at_once):
    columns = ("create", "screenshot", "input")
    table(["test guests at once", *columns],
          [[name, *(cell(figures[what]) for what in columns)] for name, figures in at_once.items()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", default="modes,parked,at-once", help="which of modes, parked, at-once")
    parser.add_argument("--images", default="test,desktop", help="which of test, desktop")
    parser.add_argument("--modes", default=",".join(MODES), help="which of ram, disk, off")
    parser.add_argument("--leases", type=int, default=50, help="how many leases of the test guest by ram and disk")
    parser.add_argument("--desktop", type=int, default=6, help="how many leases of the desktop by ram and disk")
    parser.add_argument("--off", type=int, default=6,
                        help="how many cold leases of the test guest, and by hand; a third of it of the desktop")
    parser.add_argument("--seconds", type=float, default=20, help="for how long an idle node is watched")
    parser.add_argument("--at-once", default="1,2,4", help="how many test guests at the same time")
    parser.add_argument("--rounds", type=int, default=30, help="looks and moves of each of them")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    parts, modes = options.part.split(","), options.modes.split(",")
    images = [{"test": live.TEST_GUEST, "desktop": DESKTOP}[word] for word in options.images.split(",")]
    began = time.monotonic()
    figures = {"cpus": os.cpu_count(), "accel": live.ACCEL, "load_before": os.getloadavg()[0]}

    if "modes" in parts:
        figures["modes"] = {}
        for image in images:
            test = image == live.TEST_GUEST
            cold = options.off if test else max(2, options.off // 3)
            warm = options.leases if test else options.desktop
            columns = figures["modes"][image] = {}
            for mode in modes:
                say("%s, %s" % (NAMES[image], mode))
                columns[mode] = measure_mode(image, mode, cold if mode == "off" else warm)
            say("%s, by hand" % NAMES[image])
            columns["virsh create, agent asked"] = measure_by_hand(image, cold)
    if "parked" in parts:
        figures["parked"] = {}
        for image in images:
            for mode in modes:
                say("%s parked, %s" % (NAMES[image], mode))
                figures["parked"]["%s, %s" % (NAMES[image], mode)] = measure_parked(image, mode, options.seconds)
    if "at-once" in parts:
        figures["at_once"] = {}
        for mode in modes:
            for count in [int(word) for word in options.at_once.split(",")]:
                say("%d at once, %s" % (count, mode))
                figures["at_once"]["%d, %s" % (count, mode)] = measure_at_once(
                    count, mode, 1 if mode == "off" else 3, options.rounds)
    figures["load_after"], figures["minutes"] = os.getloadavg()[0], round((time.monotonic() - began) / 60, 1)

    if options.json:
        print(json.dumps(figures, indent=2))
        return
    print("%d CPUs, %s, load %.1f before and %.1f after, %.1f minutes\n" % (
        figures["cpus"], figures["accel"], figures["load_before"], figures["load_after"], figures["minutes"]))
    for part, show in (("modes", print_modes), ("parked", print_parked), ("at_once", print_at_once)):
        if part in figures:
            show(figures[part])
    if live.ACCEL != "kvm":
        print("Under KVM: BERTHOS_TEST_ACCEL=kvm BERTHOS_TEST_IMAGES=DIR tests/bench/warm.py --leases 50 --desktop 50")


if __name__ == "__main__":
    main()
