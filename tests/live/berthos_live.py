"""What the live tests share: a node of their own, HTTP, pictures, libvirt, and the test guest.

A test starts `berth node up` with a home and a state folder of its own, so that several nodes on one host do not
meet, and everything it made is gone when it ends, however it ends. docs/TESTING.md says how to write one.

The environment (set by ctest and tests/run.sh):
  BERTHOS_BINARY          the `berth` to test
  BERTHOS_TEST_IMAGES     the folder with berthos-test-guest:v1 (and the desktop, for tests/e2e)
  BERTHOS_TEST_WORK       the folder for homes and state folders (QEMU's user must be able to cross it)
  BERTHOS_TEST_ACCEL      tcg, or kvm on a host that has it
  BERTHOS_TEST_SECONDS    after so many seconds the test gives up by itself, cleanly
"""

import base64
import collections
import contextlib
import ctypes
import http.client
import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import xml.etree.ElementTree as ElementTree
import zlib

import libvirt_calls

BINARY = os.environ.get("BERTHOS_BINARY", "berth")
WORK = os.environ.get("BERTHOS_TEST_WORK", "/var/tmp")
IMAGES = os.environ.get("BERTHOS_TEST_IMAGES", "/var/lib/berthos/images")
ACCEL = os.environ.get("BERTHOS_TEST_ACCEL", "tcg")
METADATA = "https://berthos.dev/xmlns/domain/1"
TEST_GUEST = "berthos-test-guest:v1"
WIDTH, HEIGHT = 1280, 800

# A node under emulation beside others on two cores: generous, since a passed deadline is a failure, not a measure.
START_SECONDS = 120
GUEST_SECONDS = 120
# For what should come at once. What is asked is that it comes; how soon is printed where it is of interest.
SOON_SECONDS = 60


_ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
_clean_ups = []


def at_end(clean_up):
    """Has clean_up() called when this program ends, however it ends; it may have been called before. Gives clean_up.

    unittest's own clean-ups come sooner, but not when the run is interrupted.
    """
    _clean_ups.append(clean_up)
    return clean_up


def _give_up(number, frame):
    for each in _ends:
        signal.signal(each, signal.SIG_IGN)  # cleaning up is not to be cut short by a second one
    sys.stderr.write("ended by %s%s\n" % (signal.Signals(number).name,
                                         ": the test's time is over" if number == signal.SIGALRM else ""))
    raise KeyboardInterrupt  # which unittest does not take for a failed test


# ---------------------------------------------------------------------------------------------- where the time goes

_spent = collections.Counter()  # seconds by what they went to; by threads, so that their sum may be more than the clock's
_times = collections.Counter()  # how often
_counted = threading.local()
_sleep = time.sleep


@contextlib.contextmanager
def spending(what):
    """Counts the time of its body for `what`, unless that is a part of something that is counted already."""
    if getattr(_counted, "inside", False):
        yield
        return
    _counted.inside = True
    begun = time.monotonic()
    try:
        yield
    finally:
        _counted.inside = False
        _spent[what] += time.monotonic() - begun
        _times[what] += 1


def _counted_sleep(seconds):
    with spending("sleeping"):
        _sleep(seconds)


def _say_where_it_went(seconds):
    parts = ["%s %.1f (%d)" % (what, took, _times[what]) for what, took in _spent.most_common() if took >= 0.1]
    sys.stderr.write("%.1f s, by what they went to: %s\n" % (seconds, ", ".join(parts)))


class _Timed(unittest.TextTestResult):
    """Says beside each test how long it took."""

    def startTest(self, test):
        self.begun = time.monotonic()
        super().startTest(test)

    def addSuccess(self, test):
        unittest.TestResult.addSuccess(self, test)
        self.stream.writeln("ok (%.1f s)" % (time.monotonic() - self.begun))


def main():
    """Runs the calling file's tests. Any end, also by a signal or after BERTHOS_TEST_SECONDS, cleans up."""
    for each in _ends:
        signal.signal(each, _give_up)
    signal.alarm(int(os.environ.get("BERTHOS_TEST_SECONDS", "0")))
    time.sleep = _counted_sleep
    begun = time.monotonic()
    passed = False
    try:
        runner = unittest.TextTestRunner(verbosity=2, resultclass=_Timed)
        passed = unittest.main(testRunner=runner, exit=False).result.wasSuccessful()
        _say_where_it_went(time.monotonic() - begun)
    except KeyboardInterrupt:
        pass
    finally:
        signal.alarm(0)
        for clean_up in reversed(_clean_ups):
            try:
                clean_up()
            except Exception as error:  # the others must still have their turn
                passed = False
                sys.stderr.write("cleaning up: %s\n" % error)
    sys.exit(0 if passed else 1)


def wait_for(what, condition, seconds=30.0, pause=0.05):
    """Waits until condition() gives something true and gives that; fails with `what` after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("after %g s still not: %s" % (seconds, what))
        with spending("waiting"):
            _sleep(pause)


# ---------------------------------------------------------------------------------------------- HTTP


@contextlib.contextmanager
def as_user(uid):
    """Connections that are made in its body are this uid's to the kernel, and so to the node. For root, one at a time."""
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


STRANGER = 65534  # nobody


class Response:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        kind = self.headers.get("Content-Type", "")
        assert kind.split(";")[0] == "application/json", "expected JSON, got %r: %r" % (kind, self.body[:200])
        return json.loads(self.body)

    def __repr__(self):
        return "<%d %r>" % (self.status, self.body[:300])


class Api:
    """Requests to one node. A token given here goes with every request that does not name another."""

    def __init__(self, port, token=None, host="127.0.0.1", seconds=GUEST_SECONDS):
        self.port = port
        self.token = token
        self.host = host
        self.seconds = seconds

    def with_token(self, token):
        return Api(self.port, token, self.host, self.seconds)

    def request(self, method, path, body=None, headers=None, token="", raw_body=None):
        """body: a document to send as JSON. raw_body: bytes as they are. token=None sends none."""
        create, end = (method, path) == ("POST", "/v1/leases"), method == "DELETE" and "/leases/" in path
        with spending("creates" if create else "ends" if end else "requests"):
            return self._request(method, path, body, headers, token, raw_body)

    def _request(self, method, path, body, headers, token, raw_body):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=self.seconds)
        try:
            fields = dict(headers or {})
            token = self.token if token == "" else token
            if token is not None:
                fields.setdefault("Authorization", "Bearer " + token)
            data = raw_body
            if body is not None:
                data = json.dumps(body).encode()
                fields.setdefault("Content-Type", "application/json")
            connection.request(method, path, data, fields)
            answer = connection.getresponse()
            return Response(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.request("POST", path, body, **options)

    def delete(self, path, **options):
        return self.request("DELETE", path, **options)

    def raw(self, data, seconds=10):
        """Sends bytes as they stand and gives all that comes back until the node closes or falls silent."""
        with socket.create_connection((self.host, self.port), timeout=seconds) as connection:
            got = b""
            try:
                connection.sendall(data)
            except OSError:
                pass  # refused half way through is an answer too: read it
            connection.settimeout(seconds)
            try:
                while True:
                    part = connection.recv(65536)
                    if not part:
                        break
                    got += part
                    head, found, rest = got.partition(b"\r\n\r\n")
                    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                    if found and length and len(rest) >= int(length.group(1)):
                        break
            except OSError:
                pass
            return got

    def pair(self, capabilities=None):
        """Pairs as the loopback peer may: asks for the code, gives it back, gives the token."""
        code = self.get("/v1/pairing", token=None).json()["code"]
        body = {"code": code}
        if capabilities is not None:
            body["capabilities"] = capabilities
        answer = self.post("/v1/pair", body, token=None)
        assert answer.status == 200, answer
        return answer.json()["token"]

    def lease(self, **shape):
        """Creates a lease, which must succeed, and gives its document."""
        answer = self.post("/v1/leases", dict({"os": "linux"}, **shape))
        assert answer.status == 201, answer
        return answer.json()

    def act(self, lease, *actions):
        """Performs actions, which must succeed, and gives the answer."""
        body = actions[0] if len(actions) == 1 else {"actions": list(actions)}
        answer = self.post("/v1/leases/%s/actions" % lease["id"], body)
        assert answer.status == 200, answer
        return answer.json()

    def screenshot(self, lease, query=""):
        answer = self.get("/v1/leases/%s/screenshot%s" % (lease["id"], query))
        assert answer.status == 200, answer
        assert answer.headers["Content-Type"] == "image/png", answer.headers["Content-Type"]
        return Picture.decode(answer.body)


# ---------------------------------------------------------------------------------------------- pictures


class Picture:
    """Pixels as bytes, three a pixel, row by row."""

    def __init__(self, width, height, pixels):
        self.width = width
        self.height = height
        self.pixels = pixels

    def __getitem__(self, position):
        """picture[x, y] is (red, green, blue)."""
        x, y = position
        start = 3 * (y * self.width + x)
        return tuple(self.pixels[start:start + 3])

    def row(self, y):
        return self.pixels[3 * y * self.width:3 * (y + 1) * self.width]

    def crop(self, x, y, width, height):
        rows = [self.row(line)[3 * x:3 * (x + width)] for line in range(y, y + height)]
        return Picture(width, height, b"".join(rows))

    def drawn(self):
        """Whether it is not all of one colour."""
        return self.pixels != self.pixels[:3] * (len(self.pixels) // 3)

    @spending("pictures")
    def colours(self):
        """How often each colour occurs, by (red, green, blue)."""
        numbers = bytearray(len(self.pixels) // 3 * 4)  # a pixel as a number of four bytes, which are counted faster
        for channel in range(3):
            numbers[channel::4] = self.pixels[channel::3]
        counts = collections.Counter(memoryview(numbers).cast("I"))
        return {tuple(struct.pack("=I", number)[:3]): count for number, count in counts.items()}

    @staticmethod
    @spending("pictures")
    def decode(data):
        """Reads an 8-bit RGB or RGBA PNG without interlacing (ISO/IEC 15948), and checks its sums."""
        assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
        at, header, packed, ended = 8, None, [], False
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at:at + 8])
            content = data[at + 8:at + 8 + length]
            (checksum,) = struct.unpack(">I", data[at + 8 + length:at + 12 + length])
            assert zlib.crc32(kind + content) == checksum, "checksum of %r" % kind
            if kind == b"IHDR":
                header = struct.unpack(">IIBBBBB", content)
            elif kind == b"IDAT":
                packed.append(content)
            elif kind == b"IEND":
                ended = True
            at += 12 + length
        assert ended and at == len(data), "the file is cut short"
        width, height, depth, colour, _, _, interlace = header
        assert depth == 8 and colour in (2, 6) and interlace == 0, header
        step = 3 if colour == 2 else 4
        raw = zlib.decompress(b"".join(packed))
        assert len(raw) == height * (1 + width * step), len(raw)
        rows, before = [], bytes(width * step)
        for y in range(height):
            start = y * (1 + width * step)
            before = _unfilter(raw[start], raw[start + 1:start + 1 + width * step], before, step)
            rows.append(before)
        pixels = b"".join(rows)
        if step == 4:
            rgb = bytearray(3 * width * height)
            for channel in range(3):
                rgb[channel::3] = pixels[channel::4]
            pixels = bytes(rgb)
        return Picture(width, height, pixels)


def _add_bytes(a, b):
    """Adds byte by byte, modulo 256, all at once: the top bits apart from the rest, so that nothing carries over."""
    low = int.from_bytes(b"\x7f" * len(a), "little")
    top = int.from_bytes(b"\x80" * len(a), "little")
    x, y = int.from_bytes(a, "little"), int.from_bytes(b, "little")
    return ((x & low) + (y & low) ^ (x ^ y) & top).to_bytes(len(a), "little")


def _unfilter(kind, line, before, step):
    if kind == 0:
        return line
    if kind == 2:
        return _add_bytes(line, before)
    out = bytearray(line)
    for i in range(len(out)):
        left = out[i - step] if i >= step else 0
        up = before[i]
        corner = before[i - step] if i >= step else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        else:
            a, b, c = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            guess = left if a <= b and a <= c else up if b <= c else corner
        out[i] = (out[i] + guess) & 255
    return bytes(out)


# ---------------------------------------------------------------------------------------------- libvirt


@spending("virsh")
def virsh(*arguments, check=True):
    """Runs virsh at qemu:///system and gives what it printed."""
    done = subprocess.run(["virsh", "-q", "-c", "qemu:///system", *arguments], capture_output=True, text=True,
                          timeout=60, env=dict(os.environ, LC_ALL="C"))
    if check and done.returncode != 0:
        raise AssertionError("virsh %s: %s" % (" ".join(arguments), done.stderr.strip()))
    return done.stdout if done.returncode == 0 else ""


def domain_xml(name):
    return ElementTree.fromstring(libvirt_calls.xml_of(name))


def qemu_pid(name):
    with open("/run/libvirt/qemu/%s.pid" % name) as file:
        return int(file.read())


def command_line(pid):
    """The words that a process was started with; none where it has ended."""
    try:
        with open("/proc/%s/cmdline" % pid, "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def qemus():
    """The processes of all guests of this host, whatever libvirt says of them."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit() and b"-uuid" in command_line(name)}


def qemu_of(uuid):
    """The process of the QEMU whose domain has this UUID; None where none runs."""
    for pid in qemus():
        words = command_line(pid)
        if b"-uuid" in words and words[words.index(b"-uuid") + 1] == uuid.encode():
            return pid
    return None


def takes_in_a_state(pid):
    """Whether a QEMU was started to go on from a saved state (its option -incoming), and not to boot."""
    return b"-incoming" in command_line(pid)


def cpu_seconds(pid):
    """Processor time that a process has used, in seconds (proc(5), utime and stime)."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@spending("agent")
def agent(domain, command, seconds=20, **arguments):
    """One command to the guest agent; gives its `return`."""
    request = {"execute": command}
    if arguments:
        request["arguments"] = arguments
    return json.loads(libvirt_calls.agent_command(domain, json.dumps(request), seconds))["return"]


def clock_error(domain):
    """How many seconds the guest's clock is off the host's at least, that is beyond what asking for it takes."""
    before = time.time()
    guest = agent(domain, "guest-get-time") / 1e9
    return max(before - guest, guest - time.time(), 0)


def guest_read(domain, path, limit=1 << 20):
    """A file of the guest, read through its agent."""
    handle = agent(domain, "guest-file-open", path=path, mode="r")
    data = b""
    try:
        while len(data) < limit:
            part = agent(domain, "guest-file-read", handle=handle, count=min(1 << 18, limit - len(data)))
            data += base64.b64decode(part["buf-b64"])
            if part["eof"] or not part["count"]:
                break
    finally:
        agent(domain, "guest-file-close", handle=handle)
    return data


def guest_run(domain, path, *arguments, seconds=30):
    """Runs a program in the guest through its agent; gives (exit code, stdout, stderr)."""
    pid = agent(domain, "guest-exec", path=path, arg=list(arguments), **{"capture-output": True})["pid"]

    def ended():
        status = agent(domain, "guest-exec-status", pid=pid)
        return status if status["exited"] else None

    status = wait_for("%s ends in the guest" % path, ended, seconds, 0.02)
    decode = lambda key: base64.b64decode(status.get(key, "")).decode(errors="replace")
    return status.get("exitcode", -1), decode("out-data"), decode("err-data")


# ---------------------------------------------------------------------------------------------- the node


def toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else json.dumps(value)


class Home:
    """A BERTHOS_HOME and a state folder of a test's own, and `berth` run in them."""

    def __init__(self, **settings):
        self.home = tempfile.mkdtemp(prefix="home.", dir=WORK)
        # not under the home: QEMU's user must be able to enter it
        self.state = tempfile.mkdtemp(prefix="state.", dir=WORK)
        at_end(self.clean_up)
        os.chmod(self.state, 0o711)
        self.settings = {
            "accel": ACCEL,
            "image": TEST_GUEST,
            "image_dir": IMAGES,
            "state_dir": self.state,
            "port": 0,
            "warm": "off",
            "vcpu": 1,
            "mem_gib": 1,
            # other guests of this host do not matter here
            "vcpu_overcommit": 16 if ACCEL == "tcg" else None,
        }
        self.settings.update(settings)
        self.write_config()

    def write_config(self, text=None):
        if text is None:
            text = "".join("%s = %s\n" % (key, toml(value)) for key, value in self.settings.items() if value is not None)
        path = os.path.join(self.home, "node.toml")
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o600)

    def environment(self, **more):
        env = {key: value for key, value in os.environ.items() if not key.startswith("BERTHOS_")}
        env.update(BERTHOS_HOME=self.home, LC_ALL="C.UTF-8", **more)
        # what libraries keep until exit is not our leak
        env.setdefault("ASAN_OPTIONS", "abort_on_error=0:exitcode=99")
        return env

    @spending("berth")
    def berth(self, *arguments, seconds=180, stdin=None, binary=None, **more):
        """Runs `berth` to its end; gives what subprocess.run gives, with text."""
        return subprocess.run([binary or BINARY, *arguments], capture_output=True, text=True, timeout=seconds,
                              input=stdin, stdin=subprocess.DEVNULL if stdin is None else None,
                              env=self.environment(**more))

    def path(self, *parts):
        return os.path.join(self.home, *parts)

    def clean_up(self):
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.rmtree(self.state, ignore_errors=True)


def _die_with_parent():
    # SIGTERM to the node when this test is killed outright (prctl PR_SET_PDEATHSIG)
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Node(Home):
    """A running node. Use start(); stop() or kill() as the test needs; clean_up() at the end in any case."""

    process = None
    port = None
    node_id = None
    started = served = None  # monotonic: when it was executed last, and when it then answered first

    @spending("node starts")
    def start(self, *arguments, seconds=START_SECONDS, host="127.0.0.1"):
        """Starts `berth node up` and waits until it serves at `host`. Gives self."""
        self.log_path = os.path.join(self.state, "node.log")
        with open(self.log_path, "ab") as log:
            self.log_start = log.tell()
            self.started = time.monotonic()
            self.process = subprocess.Popen([BINARY, "node", "up", *arguments], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=self.environment(), preexec_fn=_die_with_parent)

        def address():
            if self.process.poll() is not None:
                raise AssertionError("the node ended with %d:\n%s" % (self.process.returncode, self.log()))
            return re.search(r"http://%s:(\d+)" % re.escape(host), self.log())

        said = wait_for("the node says its address; its log:\n%s" % self.log(), address, seconds, 0.01)
        self.port = int(said.group(1))
        self.api = Api(self.port, host=host)
        wait_for("the node answers", lambda: self._answers(), 30, 0.01)
        self.served = time.monotonic()
        self.node_id = self.api.get("/v1/eligibility").json()["nodeId"]
        return self

    def _answers(self):
        try:
            return self.api.get("/health").status == 200
        except OSError:
            return False

    def paired(self, capabilities=None):
        """An Api with a token of its own."""
        return self.api.with_token(self.api.pair(capabilities))

    def log(self):
        """What the node wrote since its last start; "" once that is cleaned up."""
        if not os.path.exists(self.log_path):
            return ""
        with open(self.log_path, "rb") as file:
            file.seek(self.log_start)
            return file.read().decode(errors="replace")

    def running(self):
        return self.process is not None and self.process.poll() is None

    @spending("node stops")
    def stop(self, number=signal.SIGTERM, seconds=60):
        """Sends the signal and gives the exit status."""
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def domains(self):
        """The names of this node's domains, by their metadata."""
        return [name for name in libvirt_calls.domain_names() if name.startswith("berth-") and self._is_mine(name)]

    def _is_mine(self, name):
        try:
            xml = libvirt_calls.xml_of(name)
        except AssertionError:
            return False  # it has just gone
        return bool(self.node_id) and self.node_id in xml and METADATA in xml

    def domain(self):
        """The one domain there must be."""
        names = self.domains()
        assert len(names) == 1, names
        return names[0]

    def berth_status(self, n=0):
        """What /v1/node says of a berth."""
        return self.api.get("/v1/node").json()["berths"][n]

    @spending("spares")
    def ready(self, n=0, seconds=2 * GUEST_SECONDS):
        """Waits until a berth holds a prepared guest; gives what /v1/node says of the berth then."""
        last = [None]

        def ready():
            last[0] = self.berth_status(n)
            return last[0]["state"] == "ready" and last[0]

        try:
            return wait_for("berth %d is ready" % n, ready, seconds)
        except AssertionError as error:
            raise AssertionError("%s; it is %r; the node's log:\n%s" % (error, last[0], self.log()[-3000:])) from None

    def leftovers(self):
        """Files of guests in the state folder: overlays, console logs, saved states."""
        found = []
        for folder, _, files in os.walk(self.state):
            found += [os.path.join(folder, name) for name in files]
        return sorted(path for path in found if path != getattr(self, "log_path", None))

    def clean_up(self):
        if self.running():
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.node_id:
            for name in self.domains():
                virsh("destroy", name, check=False)
            self.node_id = None
        # a node that fell is told of whatever the test was about
        if self.process is not None and self.process.returncode not in (0, 1, -signal.SIGKILL, None):
            sys.stderr.write("---- the node ended with %d; its log\n%s----\n" % (self.process.returncode, self.log()[-6000:]))
            self.process = None
        super().clean_up()


class Faults:
    """The table of a test that injects faults: str() is one line, and one for each kind before it."""

    def __init__(self):
        self.kinds = {}  # what the fault interrupted -> how often
        self.survived = 0  # after which all held
        self.lost = 0  # leases
        self.recoveries_s = []  # from the node's execution until it was usable

    def inject(self, kind):
        self.kinds[kind] = self.kinds.get(kind, 0) + 1

    def recovered(self, seconds):
        self.recoveries_s.append(seconds)

    def __str__(self):
        lines = ["%4d  %s" % (count, kind) for kind, count in sorted(self.kinds.items())]
        times = [1000 * seconds for seconds in sorted(self.recoveries_s)] or [0]
        lines.append("faults injected %d  survived %d  leases lost %d  recovery p50 %.0f ms  p99 %.0f ms" % (
            sum(self.kinds.values()), self.survived, self.lost, times[len(times) // 2],
            times[min(len(times) - 1, int(len(times) * 0.99))]))
        return "\n".join(lines)


class LiveTest(unittest.TestCase):
    """A test with one node for the whole class (self.node, self.api: paired as operator)."""

    settings = {}

    @classmethod
    def setUpClass(cls):
        cls.node = Node(**cls.settings)
        cls.addClassCleanup(cls.node.clean_up)
        cls.node.start()
        cls.api = cls.node.paired()

    def tearDown(self):
        failed = self._outcome.errors if hasattr(self._outcome, "errors") else []
        if any(error for _, error in failed):
            sys.stderr.write("---- the node's log\n%s----\n" % self.node.log()[-4000:])

    def assert_error(self, answer, status, code=None):
        """An error has exactly the shape that clients rely on: a sentence, and a machine word."""
        self.assertEqual(answer.status, status, answer)
        document = answer.json()
        self.assertEqual(sorted(document), ["code", "error"])
        self.assertIsInstance(document["error"], str)
        self.assertRegex(document["error"], r"^\S.{5,}")
        self.assertRegex(document["code"], r"^[a-z][a-z_]*$")
        if code is not None:
            self.assertEqual(document["code"], code, document)
        return document["error"]

    def assert_nothing_of_a_guest(self):
        """No domain, no overlay, no console log: what the end of a lease promises."""
        self.assertEqual(self.node.domains(), [])
        self.assertEqual(guest_files(self.node), [])


def guest_files(node):
    return [path for path in node.leftovers() if re.search(r"\.(qcow2|log|save|raw)$|overlay|console", path)]


class LeaseTest(LiveTest):
    """A test with one lease for the whole class (self.lease, self.guest: the test guest in it).

    Classes of a program that want the same share it, one after the other: a test leaves the guest as it found it, and one
    that cannot has `alone` set.
    """

    shape = {}
    alone = False
    _shared = {}  # what was asked for -> node, its api, lease and guest

    @classmethod
    def setUpClass(cls):
        wanted = repr((cls.settings, cls.shape))
        if cls.alone or wanted not in cls._shared:
            cls._begin(cls.addClassCleanup if cls.alone else unittest.addModuleCleanup)
            if not cls.alone:
                cls._shared[wanted] = cls.node, cls.api, cls.lease, cls.guest
        else:
            cls.node, cls.api, cls.lease, cls.guest = cls._shared[wanted]

    @classmethod
    def _begin(cls, at_the_end):
        cls.node = Node(**cls.settings)
        at_the_end(cls.node.clean_up)
        cls.node.start()
        cls.api = cls.node.paired()
        cls.lease = cls.api.lease(**cls.shape)
        at_the_end(cls.api.delete, "/v1/leases/" + cls.lease["id"])
        cls.guest = TestGuest(cls.node.domain())

    def act(self, *actions):
        return self.api.act(self.lease, *actions)


def mode_of(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


# ---------------------------------------------------------------------------------------------- the test guest

# linux/input-event-codes.h
EV_KEY, EV_ABS = 1, 3
ABS_X, ABS_Y = 0, 1
KEY_LEFTCTRL, KEY_LEFTSHIFT, KEY_LEFTALT, KEY_CAPSLOCK = 29, 42, 56, 58
KEY_A, KEY_S, KEY_ENTER = 30, 31, 28
BTN_LEFT, BTN_RIGHT, BTN_MIDDLE = 0x110, 0x111, 0x112

_WORD = 0xffffffff


def paint_hash(seed, x, y):
    mixed = (seed * 0x9e3779b1 + x * 0x85ebca77 + y * 0xc2b2ae3d) & _WORD
    mixed ^= mixed >> 15
    mixed = mixed * 0x2c1b3c6d & _WORD
    mixed ^= mixed >> 12
    mixed = mixed * 0x297a2d39 & _WORD
    return mixed ^ mixed >> 15


@spending("pictures")
def painted(seed, x=0, y=0, width=WIDTH, height=HEIGHT):
    """What `paint SEED` must look like, or a part of it, as bytes like Picture.pixels (vmimage/test-guest/README.md)."""
    red = bytes((column + seed * 53) & 255 for column in range(x, x + width))
    rows, blue, block = [], b"", None
    for line in range(y, y + height):
        if line >> 5 != block:
            block = line >> 5
            blue = bytes(paint_hash(seed, column >> 5, block) >> 24 for column in range(x, x + width))
        row = bytearray(3 * width)
        row[0::3] = red
        row[1::3] = bytes([(line + seed * 97) & 255]) * width
        row[2::3] = blue
        rows.append(bytes(row))
    return b"".join(rows)


class TestGuest:
    """The test guest of a lease, asked through its agent. vmimage/test-guest/README.md describes it."""

    CONTROL = "/bin/ctl"

    def __init__(self, domain):
        self.domain = domain

    def ctl(self, *words):
        """One command; gives its answer's document (paint, fill, noise, flip, mode, pointer, status, reset...)."""
        code, out, err = guest_run(self.domain, self.CONTROL, *[str(word) for word in words])
        assert code == 0, (words, code, out, err)
        return json.loads(out)

    def output(self, *words):
        """One command that prints text (cat, ls, find, mounts)."""
        code, out, err = guest_run(self.domain, self.CONTROL, *[str(word) for word in words])
        assert code == 0, (words, code, out, err)
        return out

    def reset(self):
        self.ctl("reset")

    def events(self):
        """All input events since the reset, as dictionaries t_us, device, type, code, value."""
        text = guest_read(self.domain, "/run/test-guest/events").decode()
        return [json.loads(line) for line in text.splitlines()]

    def text(self):
        return guest_read(self.domain, "/run/test-guest/text")

    def keys(self):
        """The key events of the keyboard, (code, value), value 1 down and 0 up; the kernel's repeats left out."""
        return [(event["code"], event["value"]) for event in self.events()
                if event["type"] == EV_KEY and event["device"] == "keyboard" and event["value"] != 2]

    def buttons(self):
        """The button events, (code, value)."""
        return [(event["code"], event["value"]) for event in self.events()
                if event["type"] == EV_KEY and event["code"] >= BTN_LEFT]

    def pointer(self):
        return self.ctl("pointer")

    def settled_events(self, count=1):
        """The events once nothing has been added for a moment: input reaches the guest after the answer left."""
        last = [None]

        def still():
            events = self.events()
            same = events == last[0] and len(events) >= count
            last[0] = events
            return events if same else None

        return wait_for("%d input events" % count, still, 20, 0.1)
