#!/usr/bin/env python3
"""Measures looking at a guest and acting on it, beside `virsh screenshot` and `gvnccapture` on the same guest in the
same run.

    tests/bench/screen.py [--image NAME] [--rounds N] [--json]

The environment is that of the live tests (tests/live/berthos_live.py). Absolute times speak of this machine at this
minute; the ratios are what docs/PERFORMANCE.md keeps.

All are asked in turn, round by round, so that what else the machine does hits them alike. "still": the screen does
not change; "changed": the guest has painted another picture since. gvnccapture (Debian's gvncviewer) speaks VNC over
TCP only, which a guest of this node does not offer: it goes through a relay of this script, to a descriptor from
libvirt's virDomainOpenGraphicsFD; what the relay adds is measured too, by the same bytes through it to nobody.
"""

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import berthos_live as live  # noqa: E402
from graphics import Graphics  # noqa: E402
from measure import quantile  # noqa: E402


class Relay:
    """One TCP connection after the other, to a socket of open()."""

    def __init__(self, port, open_other):
        self.open_other = open_other
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            other = self.open_other()
            threading.Thread(target=self.pump, args=(client, other, True), daemon=True).start()
            threading.Thread(target=self.pump, args=(other, client, False), daemon=True).start()

    # RFB 3.8: version (12 bytes), kind of security (1), then ClientInit, whose 0 would throw the node out
    SHARED_AT = 13

    @classmethod
    def pump(cls, source, target, from_client):
        done = 0
        try:
            while True:
                data = source.recv(1 << 20)
                if not data:
                    break
                if from_client and done <= cls.SHARED_AT < done + len(data):
                    data = bytearray(data)
                    data[cls.SHARED_AT - done] = 1
                done += len(data)
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def free_display():
    """A VNC display number whose port is free."""
    for number in range(20, 1000):
        try:
            socket.create_server(("127.0.0.1", 5900 + number)).close()
            return number
        except OSError:
            continue
    raise OSError("no free port from 5920 on")


def relay_cost(size):
    """Milliseconds that the relay takes for so many bytes: from a socket pair, through it, to a reader."""
    def open_other():
        near, far = socket.socketpair()
        threading.Thread(target=lambda: (far.sendall(bytes(size)), far.shutdown(socket.SHUT_WR)), daemon=True).start()
        return near

    number = free_display()
    relay = Relay(5900 + number, open_other)
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", 5900 + number)) as reader:
        while reader.recv(1 << 20):
            pass
    took = 1000 * (time.monotonic() - begun)
    relay.listener.close()
    return took


class Subject:
    """One lease, and everything that is done with its screen."""

    def __init__(self, node, api, paints):
        self.lease = api.lease()
        self.node, self.api = node, api
        self.name = node.domain()
        self.guest = live.TestGuest(self.name) if paints else None
        self.connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=30)
        self.display = free_display()
        self.relay = Relay(5900 + self.display, Graphics(self.name).open)
        self.folder = node.state  # goes with the node
        self.seed = 1
        self.names = {}
        self.sizes = {}
        self.x = 0

    def change(self):
        if self.guest:
            self.seed += 1
            self.guest.ctl("paint", self.seed)
            time.sleep(0.1)

    def request(self, what, method, path, body=None, status=200, **headers):
        headers["Authorization"] = "Bearer " + self.api.token
        data = None
        if body is not None:
            data = json.dumps(body)
            headers["Content-Type"] = "application/json"
        self.connection.request(method, "/v1/leases/%s/%s" % (self.lease["id"], path), data, headers)
        answer = self.connection.getresponse()
        got = answer.read()
        assert answer.status == status, (answer.status, got[:300])
        self.sizes[what] = len(got)
        self.names[what] = answer.headers.get("ETag")

    def png(self):
        self.request("png", "GET", "screenshot")

    def jpeg(self):
        self.request("jpeg", "GET", "screenshot?format=jpeg")

    def smaller(self):
        self.request("smaller", "GET", "screenshot?max_edge=1000")

    def not_modified(self):
        self.request("not modified", "GET", "screenshot", status=304, **{"If-None-Match": self.names["png"]})

    def act(self, screenshot=None):
        self.x = (self.x + 37) % 1280
        body = {"actions": [{"op": "move", "x": self.x, "y": 400}]}
        if screenshot:
            body["screenshot"] = screenshot
        self.request("act and look" if screenshot else "act", "POST", "actions", body)

    def act_and_look(self):
        self.act({"settle_ms": 50})

    def virsh(self):
        path = os.path.join(self.folder, "virsh")
        subprocess.run(["virsh", "-q", "-c", "qemu:///system", "screenshot", self.name, path], check=True,
                       stdout=subprocess.DEVNULL)
        self.sizes["virsh"] = os.path.getsize(path)

    def gvnccapture(self):
        path = os.path.join(self.folder, "gvnc.png")
        subprocess.run(["gvnccapture", "-q", "127.0.0.1:%d" % self.display, path], check=True, timeout=30,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.sizes["gvnccapture"] = os.path.getsize(path)


def measure(subject, rounds, each):
    """Milliseconds by what was done."""
    times = {}

    def take(what, action):
        begun = time.monotonic()
        action()
        times.setdefault(what, []).append(1000 * (time.monotonic() - begun))

    if subject.guest:
        subject.guest.ctl("mark", "on")
    for _ in range(rounds):
        for what, action in (("PNG, still", subject.png), ("JPEG, still", subject.jpeg),
                             ("JPEG to 1000 px", subject.smaller), ("304", subject.not_modified)):
            action()
            for _ in range(each):
                take(what, action)
                time.sleep(0.01)
        for _ in range(each if subject.guest else 0):
            subject.change()
            take("PNG, changed", subject.png)
            subject.change()
            take("JPEG, changed", subject.jpeg)
        for _ in range(each):
            take("action acknowledged", subject.act)
            time.sleep(0.05)
        for _ in range(each):
            take("act and look, 50 ms", subject.act_and_look)
            time.sleep(0.05)
        for _ in range(each):
            take("virsh screenshot", subject.virsh)
        for _ in range(max(1, each // 2)):
            take("gvnccapture", subject.gvnccapture)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--image", default=live.TEST_GUEST, help="the image to lease")
    parser.add_argument("--rounds", type=int, default=10, help="how often everything is asked in turn")
    parser.add_argument("--each", type=int, default=10, help="how often a thing is done in a round")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    paints = options.image == live.TEST_GUEST
    node = live.Node(image=options.image, **({} if paints else {"vcpu": 2, "mem_gib": 3}))
    try:
        node.start()
        subject = Subject(node, node.paired(), paints)
        times = measure(subject, options.rounds, options.each)
    finally:
        node.clean_up()
    rows = {what: {"p50_ms": round(quantile(values, 0.5), 2), "p99_ms": round(quantile(values, 0.99), 2),
                   "over_virsh": round(quantile(values, 0.5) / quantile(times["virsh screenshot"], 0.5), 3),
                   "over_gvnccapture": round(quantile(values, 0.5) / quantile(times["gvnccapture"], 0.5), 3),
                   "n": len(values)} for what, values in times.items()}
    frame = 1280 * 800 * 4
    figures = {"image": options.image, "cpus": os.cpu_count(), "rows": rows, "bytes": subject.sizes,
               "relay_of_one_frame_ms": round(quantile([relay_cost(frame) for _ in range(9)], 0.5), 2)}
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    print("%s, %d CPUs; p50 over that of virsh and of gvnccapture in the same run" % (options.image, os.cpu_count()))
    print("%-22s %9s %9s %8s %8s %6s" % ("", "p50 ms", "p99 ms", "/virsh", "/gvnc", "n"))
    for what, row in rows.items():
        print("%-22s %9.2f %9.2f %8.3f %8.3f %6d" % (what, row["p50_ms"], row["p99_ms"], row["over_virsh"],
                                                     row["over_gvnccapture"], row["n"]))
    print("bytes: " + ", ".join("%s %d" % pair for pair in subject.sizes.items()))
    print("of gvnccapture's time the relay takes about %.1f ms (one frame of %d bytes through it)" % (
        figures["relay_of_one_frame_ms"], frame))


if __name__ == "__main__":
    main()
