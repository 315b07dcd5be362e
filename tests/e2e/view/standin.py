"""A stand-in for a view's listener, for what a real node cannot be made to say on demand.

It speaks the interface of docs/SESSION.md ("The view") to the page, with the same checks and policy, and plays a guest: a
framebuffer of one colour, whose keys and pointer are written down. Only the page is tested with it; what the node
does is tested against the node.
"""

import base64
import hashlib
import http.server
import json
import os
import re
import socket
import socketserver
import struct
import threading
import zlib

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'")
HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
           "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin"}
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html; charset=utf-8"}
WIDTH, HEIGHT = 1280, 800
LEASE = "l_0123456789abcdef0123456789abcdef"


class Guest:
    """What is seen, and what was done."""

    def __init__(self):
        self.colour = (0x20, 0x60, 0xc0)
        self.keys = []      # (scancode, down)
        self.pointer = []   # (mask, x, y)
        self.actions = []
        self.changed = threading.Condition()

    def paint(self, colour):
        with self.changed:
            self.colour = colour
            self.changed.notify_all()


class StandIn:
    """A view. Set its members to have it say something else."""

    def __init__(self, folder):
        self.folder = folder
        self.guest = Guest()
        self.tickets = {}
        self.secrets = {}
        self.mode = "control"
        self.seconds_left = 3600.0
        self.state = "live"
        self.more_viewers = 0
        self.refuse_action = None   # (status, code, sentence)
        self.hold_action = None     # an Event that an action waits for
        self.silent = False         # takes connections and says nothing
        self.viewers = set()        # the Rfb of each
        self.connections = set()    # of all kinds, also those kept open for the next request
        self.faults = []
        self.server = None
        self.start(0)

    def start(self, port):
        owner = self

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, request, address):
                pass  # a browser that goes away

        self.server = Server(("127.0.0.1", port), type("Bound", (Handler,), {"view": owner}))
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        """The listener is gone, and all lines with it."""
        self.server.shutdown()
        self.server.server_close()
        self.cut()

    def cut(self, connections=None):
        for each in list(self.connections if connections is None else connections):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self, code, reason=""):
        """Closes every viewer's line with a code."""
        data = struct.pack(">H", code) + reason.encode()
        viewers = list(self.viewers)
        for each in viewers:
            try:
                each.frame(8, data)
            except OSError:
                pass
        threading.Timer(0.5, self.cut, ([each.connection for each in viewers],)).start()

    def ticket(self):
        ticket = os.urandom(32).hex()
        self.tickets[ticket] = self.mode
        return ticket

    @property
    def url(self):
        return "http://127.0.0.1:%d/" % self.port

    def link(self):
        return "%s?token=%s" % (self.url, self.ticket())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.view.connections.add(self.connection)

    def finish(self):
        self.view.connections.discard(self.connection)
        super().finish()

    def log_message(self, *words):
        pass

    def answer(self, status, body, kind="application/json", **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**HEADERS, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status, code, sentence):
        self.answer(status, {"error": sentence, "code": code})

    def guarded(self):
        """Host, Origin and Sec-Fetch-Site as the node checks them. A fault of the page's is remembered."""
        origin = self.headers.get("Origin")
        wrong = origin not in (None, "http://" + self.headers.get("Host", ""))
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") or wrong:
            self.view.faults.append((self.path, origin, self.headers.get("Sec-Fetch-Site")))
            self.refuse(403, "forbidden", "a request of another site")
            return False
        return True

    def bearer(self):
        found = re.match(r"Bearer ([0-9a-f]{64})$", self.headers.get("Authorization", ""))
        return found.group(1) if found else None

    def status(self):
        view = self.view
        return {"lease_id": LEASE, "state": view.state, "mode": view.mode, "expires_at": "2030-01-01T00:00:00.000Z",
                "seconds_left": view.seconds_left, "viewers": len(view.viewers) + view.more_viewers}

    def do_GET(self):
        if self.view.silent:
            threading.Event().wait(30)
            return
        if not self.guarded():
            return
        path = self.path.split("?")[0]
        if path in ("/", "/vnc.html"):
            with open(os.path.join(self.view.folder, "page.html"), "rb") as file:
                self.answer(200 if "token=" in self.path else 401, file.read(), TYPES[".html"])
        elif path.startswith("/assets/") and ".." not in path:
            try:
                with open(os.path.join(self.view.folder, path[len("/assets/"):]), "rb") as file:
                    self.answer(200, file.read(), TYPES.get(os.path.splitext(path)[1], "application/octet-stream"))
            except OSError:
                self.refuse(404, "not_found", "there is no such path")
        elif path == "/websockify":
            self.websocket()
        elif self.bearer() not in self.view.secrets:
            self.refuse(401, "unauthorized", "no such session")
        elif path == "/status":
            self.answer(200, self.status())
        elif path == "/screenshot":
            self.answer(200, png(self.view.guest.colour), "image/png")
        else:
            self.refuse(404, "not_found", "there is no such path")

    def do_POST(self):
        view = self.view
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.guarded():
            return
        if self.path.split("?")[0] == "/session":
            mode = view.tickets.pop(self.bearer(), None)
            if mode is None:
                self.refuse(401, "unauthorized", "this ticket was used or is too old")
                return
            if "mode=watch" in self.path:
                mode = "watch"
            secret = os.urandom(32).hex()
            view.secrets[secret] = mode
            view.mode = mode
            self.answer(200, {"secret": secret, "mode": mode, "lease_id": LEASE, "expires_at": None,
                              "seconds_left": view.seconds_left})
        elif self.path == "/action":
            if view.secrets.get(self.bearer()) != "control":
                self.refuse(401, "unauthorized", "this session may only watch")
                return
            view.guest.actions.append(json.loads(body))
            if view.hold_action:
                view.hold_action.wait(20)
            if view.refuse_action:
                self.refuse(*view.refuse_action)
            else:
                self.answer(200, {"ok": True, "target": "guest", "done": 1})
        else:
            self.refuse(404, "not_found", "there is no such path")

    # ------------------------------------------------------------------ the screen (RFC 6455, RFC 6143)

    def websocket(self):
        view = self.view
        offered = [each.strip() for each in self.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        secret = next((each[8:] for each in offered if each.startswith("berthos.")), None)
        if secret not in view.secrets or "binary" not in offered:
            self.refuse(401, "unauthorized", "no such session")
            return
        if len(view.viewers) + view.more_viewers >= 8:
            self.refuse(429, "too_many", "another 8 viewers are watching")
            return
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.send_header("Sec-WebSocket-Protocol", "binary")
        self.end_headers()
        self.close_connection = True
        viewer = Rfb(self.rfile, self.connection, view.guest)
        view.viewers.add(viewer)
        try:
            viewer.serve()
        except (OSError, EOFError):
            pass
        except (ValueError, AssertionError) as fault:
            view.faults.append(repr(fault))
        finally:
            view.viewers.discard(viewer)


class Rfb:
    """The server's side of one viewer's session, in WebSocket frames."""

    def __init__(self, reader, connection, guest):
        self.reader, self.connection, self.guest = reader, connection, guest
        self.data = b""
        self.lock = threading.Lock()
        self.wanted = threading.Event()
        self.over = False

    def send(self, data):
        self.frame(2, data)

    def frame(self, kind, data):
        size = len(data)
        head = bytes([0x80 | kind]) + (bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size) if size < 65536
                          else b"\x7f" + struct.pack(">Q", size))
        with self.lock:
            self.connection.sendall(head + data)

    def exactly(self, size):
        got = self.reader.read(size)
        if len(got) < size:
            raise EOFError
        return got

    def take(self, size):
        while len(self.data) < size:
            first, second = self.exactly(2)
            length = second & 127
            if length == 126:
                (length,) = struct.unpack(">H", self.exactly(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self.exactly(8))
            mask = self.exactly(4)
            body = bytes(byte ^ mask[at & 3] for at, byte in enumerate(self.exactly(length)))
            if first & 15 == 8:
                raise EOFError
            if first & 15 == 2:
                self.data += body
        taken, self.data = self.data[:size], self.data[size:]
        return taken

    def serve(self):
        self.send(b"RFB 003.008\n")
        assert self.take(12) == b"RFB 003.008\n"
        self.send(b"\x01\x01")
        self.take(1)
        self.send(struct.pack(">I", 0))
        self.take(1)
        self.format = struct.pack(">BBBBHHHBBB3x", 32, 24, 0, 1, 255, 255, 255, 16, 8, 0)
        self.send(struct.pack(">HH", WIDTH, HEIGHT) + self.format + struct.pack(">I", 5) + b"guest")
        painter = threading.Thread(target=self.paint, daemon=True)
        painter.start()
        try:
            while True:
                self.message(self.take(1)[0])
        finally:
            self.over = True
            with self.guest.changed:
                self.guest.changed.notify_all()

    def message(self, kind):
        if kind == 0:
            self.format = self.take(19)[3:]
        elif kind == 2:
            self.take(1)
            (count,) = struct.unpack(">H", self.take(2))
            if struct.pack(">i", -258) in [self.take(4) for _ in range(count)]:
                self.send(struct.pack(">BxHHHHHi", 0, 1, 0, 0, WIDTH, HEIGHT, -258))
        elif kind == 3:
            if not self.take(9)[0]:
                self.shown = None
            self.wanted.set()
            with self.guest.changed:
                self.guest.changed.notify_all()
        elif kind == 4:
            self.take(7)
            raise ValueError("a key without its place")
        elif kind == 5:
            mask, x, y = struct.unpack(">BHH", self.take(5))
            self.guest.pointer.append((mask, x, y))
        elif kind == 6:
            self.take(3)
            (size,) = struct.unpack(">i", self.take(4))
            self.take(abs(size))
        elif kind == 255:
            _, down, _, place = struct.unpack(">BHII", self.take(11))
            self.guest.keys.append((place, down))
        else:
            raise ValueError("message %d" % kind)

    shown = None

    def paint(self):
        try:
            while not self.over:
                with self.guest.changed:
                    while not self.over and not (self.wanted.is_set() and self.shown != self.guest.colour):
                        self.guest.changed.wait(5)
                    colour = self.shown = self.guest.colour
                    self.wanted.clear()
                if self.over:
                    return
                depth, _, big, _, _, _, _, red, green, blue = struct.unpack(">BBBBHHHBBB3x", self.format)
                assert depth == 32
                value = colour[0] << red | colour[1] << green | colour[2] << blue
                pixel = struct.pack(">I" if big else "<I", value)
                self.send(struct.pack(">BxHHHHHi", 0, 1, 0, 0, WIDTH, HEIGHT, 0) + pixel * (WIDTH * HEIGHT))
        except OSError:
            pass


def png(colour):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes(colour) * WIDTH) * HEIGHT
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
