"""A client of `berth mcp` as strict as the protocol, and a node that is only what a test says.

Mcp starts the server, checks that each line on its stdout is one message of MCP and that its stderr stays empty, and
speaks either era. FakeNode answers the routes that the tools use, records what it was asked, and notices when a
caller hangs up.
"""

import base64
import http.server
import json
import os
import queue
import random
import re
import select
import struct
import subprocess
import tempfile
import threading
import time
import urllib.parse
import zlib

import berthos_live as live

TOKEN = "ab" * 32
LEASE = "l_" + "0" * 32
STATELESS = "2026-07-28"
SESSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
META = {"io.modelcontextprotocol/protocolVersion": STATELESS, "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}}


def check_message(message):
    """What every message of a server must be, in all revisions (JSON-RPC 2.0, and the schemas' common part)."""
    assert message.get("jsonrpc") == "2.0", message
    if "method" in message:
        assert "id" not in message, "a server of tools asks nothing: %r" % message
        assert message["method"] == "notifications/progress", message
        return
    assert ("result" in message) != ("error" in message), message
    assert "id" in message and isinstance(message["id"], (str, int, type(None))), message
    if "error" in message:
        assert isinstance(message["error"]["code"], int) and message["error"]["message"], message
    else:
        assert message["id"] is not None and isinstance(message["result"], dict), message


class Mcp:
    """A running `berth mcp`."""

    def __init__(self, *arguments, env=None, revision=None):
        """revision: begins a session of it. Without one nothing is sent."""
        self.process = subprocess.Popen([live.BINARY, "mcp", *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        live.at_end(self.kill)
        self.arrived = queue.Queue()
        self.notifications = []
        self.answers = {}
        self.stray = []  # answers to nobody: id null
        self.bad = []
        self.errors = b""
        self.ids = 0
        self.meta = None
        self.lock = threading.Lock()
        self.readers = [threading.Thread(target=self._read, daemon=True), threading.Thread(target=self._listen, daemon=True)]
        for reader in self.readers:
            reader.start()
        if revision == STATELESS:
            self.meta = META
        elif revision:
            self.begin(revision)

    def _read(self):
        for line in self.process.stdout:
            try:
                assert line.endswith(b"\n"), "a line without its end: %r" % line[-80:]
                value = json.loads(line.decode("utf-8"))
                for message in value if isinstance(value, list) else [value]:
                    check_message(message)
                self.arrived.put(value)
            except (AssertionError, ValueError) as error:
                self.bad.append("%s: %r" % (error, line[:200]))
        self.arrived.put(None)

    def _listen(self):
        self.errors = self.process.stderr.read()

    def begin(self, revision):
        result = self.request("initialize", {"protocolVersion": revision, "capabilities": {},
                                             "clientInfo": {"name": "test", "version": "1"}})["result"]
        self.notify("notifications/initialized")
        return result

    def send(self, text):
        """A line as it stands: str or bytes."""
        data = text if isinstance(text, bytes) else text.encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def send_json(self, document):
        self.send(json.dumps(document))

    def notify(self, method, params=None):
        self.send_json({"jsonrpc": "2.0", "method": method, **({"params": params} if params is not None else {})})

    def start(self, method, params=None, progress=None):
        """Sends a request and gives its id."""
        self.ids += 1
        params = dict(params or {})
        meta = dict(self.meta or {}, **({"progressToken": progress} if progress is not None else {}))
        if meta:
            params["_meta"] = meta
        self.send_json({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params})
        return self.ids

    def start_call(self, tool, progress=None, **arguments):
        return self.start("tools/call", {"name": tool, "arguments": arguments}, progress)

    def next(self, seconds=20):
        """The next line from the server, whatever it is."""
        value = self.arrived.get(timeout=seconds)
        assert value is not None, "the server has ended; stderr: %s" % self.errors.decode()
        return value

    def wait(self, number, seconds=60):
        """The answer to a request."""
        end = time.monotonic() + seconds
        while number not in self.answers:
            value = self.next(max(0.01, end - time.monotonic()))
            if isinstance(value, list) or value.get("id", 0) is None:
                self.stray.append(value)
            elif "method" in value:
                self.notifications.append(value)
            else:
                assert value["id"] not in self.answers, "answered twice: %r" % value
                self.answers[value["id"]] = value
        return self.answers[number]

    def request(self, method, params=None, seconds=60, progress=None):
        return self.wait(self.start(method, params, progress), seconds)

    def call(self, tool, seconds=60, progress=None, **arguments):
        """A tool's result, which must be no error of the protocol."""
        answer = self.wait(self.start_call(tool, progress, **arguments), seconds)
        assert "result" in answer, answer
        return answer["result"]

    def good(self, tool, **arguments):
        """A tool's structured content; it must have done it."""
        result = self.call(tool, **arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    def error(self, tool, **arguments):
        """The sentence of a tool that must refuse."""
        result = self.call(tool, **arguments)
        assert result.get("isError") is True, result
        assert len(result["content"]) == 1 and result["content"][0]["type"] == "text", result
        return result["content"][0]["text"]

    def close(self, seconds=live.SOON_SECONDS):
        """Ends the input; gives how long the server took to end. Nothing but messages may have come from it."""
        start = time.monotonic()
        if not self.process.stdin.closed:
            self.process.stdin.close()
        code = self.process.wait(seconds)
        took = time.monotonic() - start
        for reader in self.readers:
            reader.join(10)
        self.process.stdout.close()
        self.process.stderr.close()
        assert not self.bad, self.bad
        assert self.errors == b"", self.errors.decode(errors="replace")
        assert code == 0, "exit %d" % code
        return took

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


# ---------------------------------------------------------------------------------------------- pictures


def png(width, height, noise=False):
    """A PNG of one colour, or one that does not compress."""
    source = random.Random(1)
    row = lambda: b"\0" + (source.randbytes(3 * width) if noise else b"\x20\x40\x60" * width)
    part = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            part(b"IDAT", zlib.compress(b"".join(row() for _ in range(height)), 1)) + part(b"IEND", b""))


def jpeg(width, height, size):
    """The head of a JPEG and bytes up to a size: nobody here looks at its pixels."""
    head = b"\xff\xd8" + b"\xff\xe0\x00\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0"
    head += b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03\x01\x11\0\x02\x11\x01\x03\x11\x01"
    return head + b"\0" * max(0, size - len(head) - 2) + b"\xff\xd9"


def size_of(data):
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return struct.unpack(">II", data[16:24])
    at = 2
    while data[at + 1] not in (0xc0, 0xc1, 0xc2):
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    height, width = struct.unpack(">HH", data[at + 5:at + 9])
    return width, height


def image_of(result):
    """The image block of a result, as (type, bytes, text of base64)."""
    blocks = [block for block in result["content"] if block["type"] == "image"]
    assert len(blocks) == 1, [block["type"] for block in result["content"]]
    return blocks[0]["mimeType"], base64.b64decode(blocks[0]["data"], validate=True), blocks[0]["data"]


# ---------------------------------------------------------------------------------------------- a node of a test's own


class FakeNode:
    """The routes of a node that the tools use. Attributes say what it answers; `requests` is what it was asked."""

    def __init__(self):
        self.width, self.height = 1280, 800
        self.noise = False
        self.jpeg_bytes = lambda quality: 2000 * quality  # at full size
        self.leases = [LEASE]
        self.refusals = {}  # method and path without the lease's id -> (status, word, sentence)
        self.hold = threading.Event()  # actions wait for it to be set, or for the caller to go
        self.hold.set()
        self.keeps_time = False  # waits and held keys take as long as they say
        self.answer = None  # bytes instead of any answer
        self.requests = []
        self.gone = []  # paths whose caller hung up while it was held
        self.connections = 0
        self.more = {}
        node = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *arguments):
                pass

            def setup(self):
                node.connections += 1
                super().setup()

            def do_GET(self):
                node.serve(self)

            do_POST = do_DELETE = do_GET

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # a caller that hung up is what some tests are about

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.url = "http://127.0.0.1:%d" % self.port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def home(self, token=TOKEN, url=None):
        """The environment of a client that is paired with this node."""
        folder = tempfile.mkdtemp(prefix="home.", dir=live.WORK)
        live.at_end(lambda: __import__("shutil").rmtree(folder, ignore_errors=True))
        path = os.path.join(folder, "client.toml")
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write('url = "%s"\ntoken = "%s"\n' % (url or self.url, token))
        return environment(folder)

    def of(self, method, end=""):
        return [request for request in self.requests if request["method"] == method and request["path"].endswith(end)]

    def actions(self):
        """All actions that came, in their order."""
        return [action for request in self.of("POST", "/actions") for action in request["body"]["actions"]]

    # -- answers

    def serve(self, handler):
        split = urllib.parse.urlsplit(handler.path)
        size = int(handler.headers.get("Content-Length") or 0)
        body = json.loads(handler.rfile.read(size)) if size else None
        request = {"method": handler.command, "path": split.path, "query": dict(urllib.parse.parse_qsl(split.query)),
                   "body": body, "token": handler.headers.get("Authorization")}
        self.requests.append(request)
        if self.answer is not None:
            handler.wfile.write(self.answer)
            handler.close_connection = True
            return
        lease = re.search(r"l_[0-9a-f]{32}", split.path)
        route = handler.command + " " + re.sub(r"/v1/leases/l_[0-9a-f]{32}", "", split.path)
        if request["token"] != "Bearer " + TOKEN:
            self.refuse(handler, 401, "unauthorized", "the token is unknown")
        elif route in self.refusals:
            self.refuse(handler, *self.refusals[route])
        elif lease and lease.group(0) not in self.leases and handler.command != "DELETE":
            self.refuse(handler, 404, "not_found", "there is no live lease " + lease.group(0))
        elif route == "GET /v1/leases":
            self.say(handler, 200, [self.lease(each) for each in self.leases])
        elif route == "GET ":
            self.say(handler, 200, self.lease(lease.group(0)))
        elif route == "DELETE ":
            self.leases = [each for each in self.leases if each != lease.group(0)]
            self.say(handler, 200, {"lease_id": lease.group(0), "occupancy_seconds": 61, "billed_seconds": 61,
                                    "reason": "graceful"})
        elif route == "GET /screenshot":
            self.screenshot(handler, request["query"])
        elif route == "POST /actions":
            self.act(handler, request)
        else:
            self.refuse(handler, 404, "not_found", "there is nothing here")

    def say(self, handler, status, document):
        self.write(handler, status, "application/json", json.dumps(document).encode())

    def refuse(self, handler, status, word, sentence, **more):
        self.say(handler, status, dict({"error": sentence, "code": word}, **more))

    def write(self, handler, status, kind, data, headers=()):
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            handler.send_header(name, str(value))
        handler.end_headers()
        handler.wfile.write(data)

    def lease(self, lease):
        ends = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 600))
        return {"id": lease, "state": "live", "quote": {"vcpu": 2, "mem_gib": 4, "disk_gib": 40, "os": "linux"},
                "started_at": "2026-01-31T23:59:59.123Z", "ended_at": None, "expires_at": ends,
                "viewer_url": "http://127.0.0.1:1/"}

    def shrunk(self, width, height, edge):
        longer = max(width, height)
        if edge >= longer:
            return width, height
        return [max(1, -(-(side * edge * 2 - longer) // (longer * 2))) for side in (width, height)]  # a half is rounded down

    def draw(self, width, height, edge, kind, quality):
        wide, high = self.shrunk(width, height, edge)
        if kind == "jpeg":
            return wide, high, jpeg(wide, high, self.jpeg_bytes(quality) * wide * high // (width * height))
        return wide, high, png(wide, high, self.noise)

    def screenshot(self, handler, query):
        region = [int(number) for number in query["region"].split(",")] if "region" in query else None
        width, height = region[2:] if region else (self.width, self.height)
        wide, high, data = self.draw(width, height, int(query.get("max_edge", 1 << 15)), query.get("format", "png"),
                                     int(query.get("quality", 80)))
        headers = [("X-Picture-Width", wide), ("X-Picture-Height", high), ("X-Frame-Width", self.width), ("X-Frame-Height", self.height),
                   ("X-Scale", "%.6f" % (max(wide, high) / max(width, height))), ("ETag", '"1"'), ("Cache-Control", "no-store")]
        self.write(handler, 200, "image/" + query.get("format", "png"), data, headers)

    def held(self, handler, path, actions):
        """Waits until the hold is lifted, and as long as the actions say; false when the caller went away before."""
        took = sum(action.get("duration_ms", 0) for action in actions) / 1000 if self.keeps_time else 0
        end = time.monotonic() + took
        while not self.hold.wait(0.01) or time.monotonic() < end:
            time.sleep(0.01)
            readable, _, _ = select.select([handler.connection], [], [], 0)
            if readable and not handler.connection.recv(1):
                self.gone.append(path)
                return False
        return True

    def act(self, handler, request):
        body = request["body"]
        frame = body.get("frame")
        if frame and (frame["width"], frame["height"]) != (self.width, self.height):
            self.refuse(handler, 409, "frame_changed", "the screen is %dx%d now" % (self.width, self.height), done=0)
            return
        if not self.held(handler, request["path"], body["actions"]):
            return
        document = {"ok": True, "target": "guest", "done": len(body["actions"]), "settled_ms": 12,
                    "frame": {"width": self.width, "height": self.height, "etag": "1"}, "changed": [100, 200, 30, 40]}
        if body["actions"][-1]["op"] == "cursor_position":
            document.update(x=self.width // 2, y=self.height - 1, changed=None)
        shot = body.get("screenshot")
        if shot:
            wide, high, data = self.draw(self.width, self.height, shot["max_edge"], shot["format"], 80)
            document["screenshot"] = {"mime": "image/" + shot["format"], "width": wide, "height": high,
                                      "scale": wide / self.width, "data": base64.b64encode(data).decode()}
        self.say(handler, 200, dict(document, **self.more))


def environment(home):
    env = {key: value for key, value in os.environ.items() if not key.startswith("BERTHOS_")}
    env.update(BERTHOS_HOME=home, LC_ALL="C.UTF-8")
    env.setdefault("ASAN_OPTIONS", "abort_on_error=0:exitcode=99")
    return env
