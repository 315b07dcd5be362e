#!/usr/bin/env python3
"""Measures the guest view's pump beside Debian's websockify, in front of the same VNC server, in the same run.

    tests/bench/view.py [--rounds N] [--mib N] [--no-guest] [--json]

The environment is that of the live tests (tests/live/berthos_live.py); bench_view_host stands beside $BERTHOS_BINARY.
The VNC server is a stand-in on a unix socket: it pours as many bytes as it is asked for, or answers a request at once
with a small update. Absolute times speak of this machine at this minute; the ratios are what docs/PERFORMANCE.md keeps.
"""

import argparse
import http.client
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import berthos_live as live  # noqa: E402
import view_client  # noqa: E402
from measure import quantile  # noqa: E402

HOST = os.path.join(os.path.dirname(os.path.abspath(live.BINARY)), "bench_view_host")
CHUNK = 256 << 10
FRAME = 4 << 20  # what QEMU writes at once: a raw frame of 1280 x 800
SMALL = b"\0" * 64


# ---------------------------------------------------------------------------------------------- the source


def serve(path, ready):
    """The VNC server, in a process of its own: an update request of x,y pours (x << 16 | y) MiB, 0 answers SMALL."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    ready.send(b"\n")
    block = os.urandom(FRAME)

    def need(connection, count):
        data = b""
        while len(data) < count:
            part = connection.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def talk(connection):
        try:
            connection.sendall(b"RFB 003.008\n")
            need(connection, 12)
            connection.sendall(b"\1\1")
            need(connection, 1)
            connection.sendall(bytes(4))
            need(connection, 1)
            connection.sendall(struct.pack(">HH16sI4s", 1280, 800, b"\x20\x18\0\1\0\xff\0\xff\0\xff\x10\x08\0", 4, b"fake"))
            while True:
                kind, _, x, y, _, _ = struct.unpack(">BBHHHH", need(connection, 10))
                assert kind == 3, kind
                left = (x << 16 | y) << 20  # of which FRAME is a divisor
                if not left:
                    connection.sendall(SMALL)
                while left:
                    connection.sendall(block)
                    left -= FRAME
        except (EOFError, OSError):
            connection.close()

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=talk, args=(connection,), daemon=True).start()


class Source:
    def __init__(self, folder):
        self.path = os.path.join(folder, "vnc")
        mine, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            mine.close()
            try:
                serve(self.path, theirs)
            finally:
                os._exit(1)
        theirs.close()
        mine.recv(1)
        mine.close()

    def stop(self):
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


# ---------------------------------------------------------------------------------------------- the pumps


class Pump:
    """A process that stands before the source; `path` opens a viewer on `port`."""

    path = "/websockify"

    def pids(self):
        """The process and its children."""
        found = [self.process.pid]
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open("/proc/%s/stat" % name) as file:
                        if int(file.read().rpartition(")")[2].split()[1]) == self.process.pid:
                            found.append(int(name))
                except OSError:
                    pass
        return found

    def cpu(self):
        """Seconds of processor time of all that live."""
        total = 0
        for pid in self.pids():
            try:
                total += live.cpu_seconds(pid)
            except OSError:
                pass
        return total

    def memory_kib(self):
        total = 0
        for pid in self.pids():
            with open("/proc/%d/smaps_rollup" % pid) as file:
                total += next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        return total

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


class View(Pump):
    def __init__(self, folder, source):
        self.process = subprocess.Popen([HOST, folder, source.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL)
        port, token = self.process.stdout.readline().split()
        self.port = int(port)
        self.path = "/websockify?token=" + token


class Websockify(Pump):
    def __init__(self, folder, source):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen(["websockify", "--unix-target=" + source.path, "127.0.0.1:%d" % self.port],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        live.wait_for("websockify listens", self._listens)

    def _listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        except OSError:
            return False


class Direct:
    """The source itself: what the client and the server cost without anybody between."""

    def __init__(self, source):
        self.source = source


def open_viewer(pump, **options):
    if isinstance(pump, Direct):
        return Plain(pump.source.path)
    # websockify says "binary" only when it is asked for
    viewer = view_client.Viewer(pump.port, pump.path, **options)
    viewer.discard = socket.MSG_TRUNC
    return viewer


class Plain:
    """RFB without a WebSocket."""

    discard = 0

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(path)
        self.socket.sendall(b"RFB 003.008\n\1\1")
        left = 12 + 2 + 4 + 28
        while left:
            left -= len(self.socket.recv(left))

    def send(self, data):
        self.socket.sendall(data)

    def cut(self):
        self.socket.close()


def request(mib):
    return struct.pack(">BBHHHH", 3, 1, mib >> 16, mib & 0xffff, 1, 1)


def count_bytes(viewer, least):
    """Waits until so many bytes have come: frame headers count too, and are next to nothing. The kernel throws them away
    (MSG_TRUNC, tcp(7)) and Plain's socket, which cannot, copies them: so that it is the pump which is measured."""
    buffer, got = bytearray(CHUNK), 0
    while got < least:
        got += viewer.socket.recv_into(buffer, CHUNK, viewer.discard)
    return got


def measure_flow(pump, mib):
    viewer = open_viewer(pump)
    try:
        begun, cpu = time.monotonic(), pump.cpu() if isinstance(pump, Pump) else 0
        viewer.send(request(mib))
        count_bytes(viewer, mib << 20)
        took = time.monotonic() - begun
        cpu = (pump.cpu() if isinstance(pump, Pump) else 0) - cpu
    finally:
        viewer.cut()
    return mib / took, cpu / (mib / 1024)


def measure_latency(pump, count):
    """Round trips of a small message and its small answer, microseconds."""
    viewer = open_viewer(pump)
    times = []
    try:
        for _ in range(count):
            begun = time.monotonic()
            viewer.send(request(0))
            count_bytes(viewer, len(SMALL))
            times.append(1e6 * (time.monotonic() - begun))
            time.sleep(0.0005)
    finally:
        viewer.cut()
    return times


def measure_memory(pump, viewers=8):
    """KiB for each viewer: once idle, once with one that asked for much and reads nothing."""
    empty = pump.memory_kib()
    here = [open_viewer(pump) for _ in range(viewers)]
    time.sleep(0.5)
    idle = pump.memory_kib()
    for viewer in here:
        viewer.send(request(64))
    time.sleep(1.5)
    slow = pump.memory_kib()
    for viewer in here:
        viewer.cut()
    time.sleep(0.5)
    return (idle - empty) / viewers, (slow - empty) / viewers


# ---------------------------------------------------------------------------------------------- with a guest


def measure_beside_slow_viewers(rounds, count):
    """Screenshots of a real guest, alone and beside 8 viewers that read nothing, by turns."""
    node = live.Node()
    try:
        node.start()
        api = node.paired()
        lease = api.lease()
        guest = live.TestGuest(node.domain())
        guest.ctl("noise", 5)
        connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=30)
        headers = {"Authorization": "Bearer " + api.token}
        port = int(lease["viewer_url"].rstrip("/").rpartition(":")[2])

        def shoot():
            begun = time.monotonic()
            connection.request("GET", "/v1/leases/%s/screenshot" % lease["id"], headers=headers)
            answer = connection.getresponse()
            assert answer.status == 200 and answer.read()
            return 1000 * (time.monotonic() - begun)

        figures = {"alone": [], "beside": []}
        for _ in range(20):
            shoot()
        for _ in range(rounds):
            figures["alone"] += [shoot() for _ in range(count)]
            slow = [view_client.Viewer(port, "/websockify?token=" + api.token, receive_buffer=4096) for _ in range(8)]
            for viewer in slow:
                viewer.set_encodings(view_client.RAW)
                for _ in range(20):
                    viewer.ask(0)
            time.sleep(1)
            figures["beside"] += [shoot() for _ in range(count)]
            for viewer in slow:
                viewer.cut()
            time.sleep(1)
        return figures
    finally:
        node.clean_up()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured, by turns")
    parser.add_argument("--mib", type=int, default=1024, help="how much flows in a round")
    parser.add_argument("--trips", type=int, default=1000, help="how many round trips a round has")
    parser.add_argument("--no-guest", action="store_true", help="leave out what needs a guest")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="view-bench.", dir=live.WORK)
    source = Source(folder)
    pumps = {}
    try:
        pumps = {"direct": Direct(source), "view": View(folder, source), "websockify": Websockify(folder, source)}
        flows = {name: [] for name in pumps}
        trips = {name: [] for name in pumps}
        for _ in range(options.rounds):
            for name, pump in pumps.items():
                flows[name].append(measure_flow(pump, options.mib))
                trips[name] += measure_latency(pump, options.trips)
        memory = {name: measure_memory(pump) for name, pump in pumps.items() if isinstance(pump, Pump)}
    finally:
        for pump in pumps.values():
            if isinstance(pump, Pump):
                pump.stop()
        source.stop()
        shutil.rmtree(folder)

    figures, base = {}, quantile(trips["direct"], 0.5)
    for name in pumps:
        figures[name] = {"MiB/s": round(quantile([rate for rate, _ in flows[name]], 0.5)),
                         "CPU s/GiB": round(quantile([cpu for _, cpu in flows[name]], 0.5), 3),
                         "added p50 us": round(quantile(trips[name], 0.5) - base),
                         "added p99 us": round(quantile(trips[name], 0.99) - base),
                         "KiB idle": round(memory[name][0]) if name in memory else None,
                         "KiB slow": round(memory[name][1]) if name in memory else None}
    mine, theirs = figures["view"], figures["websockify"]
    ratios = {key: round(mine[key] / theirs[key], 2) for key in mine if theirs[key]}
    if not options.no_guest:
        beside = measure_beside_slow_viewers(3, 100)
        figures["screenshot ms"] = {"%s %s" % (name, word): round(quantile(values, share), 1)
                                    for name, values in beside.items() for word, share in (("p50", 0.5), ("p99", 0.99))}
    if options.json:
        print(json.dumps({"figures": figures, "view/websockify": ratios, "cpus": os.cpu_count()}, indent=2))
        return
    keys = list(mine)
    print("%-18s %s" % ("", " ".join("%13s" % key for key in keys)))
    for name in list(pumps) + ["view/websockify"]:
        row = ratios if name == "view/websockify" else figures[name]
        print("%-18s %s" % (name, " ".join("%13s" % row.get(key, "") for key in keys)))
    if "screenshot ms" in figures:
        print("screenshot ms, alone and beside 8 viewers that read nothing:", figures["screenshot ms"])


if __name__ == "__main__":
    main()
