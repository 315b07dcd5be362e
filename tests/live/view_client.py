"""A viewer for tests: WebSocket (RFC 6455) and the client's side of RFB (RFC 6143), by the standard library alone.

It is strict about what the node sends, and may be told to break every rule itself.
"""

import base64
import hashlib
import os
import socket
import struct
import time

BINARY, TEXT, CLOSE, PING, PONG = 2, 1, 8, 9, 10
RAW, DESKTOP_SIZE, EXTENDED_KEY = 0, -223, -258


class Refused(Exception):
    """The handshake was answered with something else than 101."""

    def __init__(self, status, headers, body):
        super().__init__("%d %r" % (status, body[:200]))
        self.status = status
        self.headers = headers
        self.body = body


class Closed(Exception):
    """The node has closed: with a code and a reason, or (code None) without a word."""

    def __init__(self, code, reason=""):
        super().__init__("%s %s" % (code, reason))
        self.code = code
        self.reason = reason


class WebSocket:
    """A connection to ws://127.0.0.1:PORT/PATH. Frames go out masked, final and binary unless told otherwise."""

    def __init__(self, port, path="/websockify", secret=None, headers=None, without=(), seconds=30, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(seconds)
        self.socket.connect(("127.0.0.1", port))
        self.buffer = bytearray()
        self.pings = 0
        try:
            self._shake_hands(port, path, secret, headers or {}, without)
        except BaseException:
            self.socket.close()
            raise

    def _shake_hands(self, port, path, secret, more, without):
        key = base64.b64encode(os.urandom(16)).decode()
        fields = {"Host": "127.0.0.1:%d" % port, "Upgrade": "websocket", "Connection": "keep-alive, Upgrade",
                  "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key}
        if secret:
            fields["Sec-WebSocket-Protocol"] = "binary, berthos." + secret
        fields.update(more)
        lines = ["GET %s HTTP/1.1" % path] + ["%s: %s" % field for field in fields.items() if field[0] not in without]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.buffer:
            part = self.socket.recv(65536)
            if not part:
                raise Closed(None, "in the handshake")
            self.buffer += part
        head, _, rest = bytes(self.buffer).partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        self.status = int(first.split()[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if self.status != 101:
            length = int(self.headers.get("content-length", 0))
            while len(rest) < length:
                rest += self.socket.recv(65536)
            raise Refused(self.status, self.headers, rest)
        self.buffer = bytearray(rest)
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        assert self.headers["sec-websocket-accept"] == accept.decode(), self.headers
        assert self.headers["upgrade"].lower() == "websocket" and self.headers["connection"].lower() == "upgrade", self.headers
        assert self.headers.get("sec-websocket-protocol") == ("binary" if secret else None), self.headers

    @staticmethod
    def frame(data, opcode=BINARY, final=True, masked=True, reserved=0, length=None):
        """One frame as bytes; length: to announce another one than the true."""
        count = len(data) if length is None else length
        flag = 0x80 if masked else 0
        head = bytes([(0x80 if final else 0) | reserved << 4 | opcode])
        if count < 126:
            head += bytes([flag | count])
        elif count < 65536:
            head += bytes([flag | 126]) + struct.pack(">H", count)
        else:
            head += bytes([flag | 127]) + struct.pack(">Q", count)
        if not masked:
            return head + data
        mask = os.urandom(4)
        key = (mask * (len(data) // 4 + 1))[:len(data)]
        hidden = int.from_bytes(data, "big") ^ int.from_bytes(key, "big")
        return head + mask + hidden.to_bytes(len(data), "big")

    def send(self, data, **options):
        self.socket.sendall(self.frame(data, **options))

    def _need(self, count):
        while len(self.buffer) < count:
            part = self.socket.recv(262144)
            if not part:
                raise Closed(None, "the connection ended")
            self.buffer += part

    def _take(self, count):
        self._need(count)
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data

    def receive_frame(self):
        """(opcode, payload) of the next frame, which must be final, unmasked and of the shortest form."""
        first, second = self._take(2)
        assert first & 0xf0 == 0x80, "not final, or a reserved bit: %#x" % first
        assert not second & 0x80, "masked by a server"
        length = second & 0x7f
        if length == 126:
            length, = struct.unpack(">H", self._take(2))
            assert length >= 126
        elif length == 127:
            length, = struct.unpack(">Q", self._take(8))
            assert length >= 65536
        return first & 0xf, self._take(length)

    def receive(self):
        """The next binary message; answers pings. Raises Closed."""
        while True:
            opcode, data = self.receive_frame()
            if opcode == BINARY:
                return data
            if opcode == PING:
                self.pings += 1
                self.send(data, opcode=PONG)
            elif opcode == CLOSE:
                code = struct.unpack(">H", data[:2])[0] if data else 1005
                try:
                    self.send(data[:2], opcode=CLOSE)
                except OSError:
                    pass
                raise Closed(code, data[2:].decode())
            else:
                assert opcode == PONG, opcode

    def until_closed(self, seconds=30):
        """Reads until the node closes; gives its code and reason."""
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                self.socket.settimeout(max(0.1, end - time.monotonic()))
                self.receive()
        except Closed as closed:
            return closed.code, closed.reason
        except ConnectionResetError:
            return None, "reset"
        raise AssertionError("not closed in %g s" % seconds)

    def cut(self):
        """Goes without a word."""
        self.socket.close()


class Viewer(WebSocket):
    """A WebSocket with RFB on it: it has shaken hands, and knows the size of the screen."""

    def __init__(self, port, path="/websockify", secret=None, shared=0, version=b"RFB 003.008\n", **options):
        super().__init__(port, path, secret, **options)
        self.stream = bytearray()
        try:
            assert self.read(12) == b"RFB 003.008\n"
            self.send(version)
            assert self.read(2) == b"\1\1", "security types"
            self.send(b"\1")
            assert self.read(4) == b"\0\0\0\0", "security result"
            self.send(bytes([shared]))  # not shared: the node must make it so
            self.width, self.height = struct.unpack(">HH", self.read(4))
            self.read(16)
            self.name = self.read(struct.unpack(">I", self.read(4))[0])
        except BaseException:
            self.cut()
            raise

    def read(self, count):
        """Bytes of the RFB stream."""
        while len(self.stream) < count:
            self.stream += self.receive()
        data = bytes(self.stream[:count])
        del self.stream[:count]
        return data

    def set_encodings(self, *encodings):
        self.send(struct.pack(">BxH%di" % len(encodings), 2, len(encodings), *encodings))

    def ask(self, incremental, x=0, y=0, width=None, height=None):
        self.send(struct.pack(">BBHHHH", 3, incremental, x, y, width or self.width, height or self.height))

    def key(self, keysym, down):
        self.send(struct.pack(">BBxxI", 4, down, keysym))

    def code(self, code, down, keysym=0):
        """QEMU's extended key event."""
        self.send(struct.pack(">BBHII", 255, 0, down, keysym, code))

    def pointer(self, x, y, buttons=0):
        self.send(struct.pack(">BBHH", 5, buttons, x, y))

    def cut_text(self, data, length=None):
        self.send(struct.pack(">BxxxI", 6, (len(data) if length is None else length) & 0xffffffff) + data)

    def update(self):
        """The next FramebufferUpdate: rectangles (x, y, width, height, encoding, pixels); raw and pseudo only."""
        kind = self.read(1)[0]
        assert kind == 0, "message %d" % kind
        count, = struct.unpack(">xH", self.read(3))
        rectangles = []
        for _ in range(count):
            x, y, width, height, encoding = struct.unpack(">HHHHi", self.read(12))
            assert encoding in (RAW, DESKTOP_SIZE, EXTENDED_KEY), "an encoding that was not asked for: %d" % encoding
            pixels = self.read(4 * width * height) if encoding == RAW else b""
            if encoding == DESKTOP_SIZE:
                self.width, self.height = width, height
            rectangles.append((x, y, width, height, encoding, pixels))
        return rectangles

    def fence(self):
        """Returns when QEMU has read everything that was sent before, and gives what came meanwhile."""
        self.set_encodings(RAW, DESKTOP_SIZE, EXTENDED_KEY)
        seen = []
        while True:
            rectangles = self.update()
            seen += rectangles
            if any(rectangle[4] == EXTENDED_KEY for rectangle in rectangles):
                return seen

    def picture(self):
        """The whole screen as red, green, blue bytes."""
        screen, missing = bytearray(4 * self.width * self.height), self.width * self.height
        self.ask(0)
        while missing > 0:
            for x, y, width, height, encoding, pixels in self.update():
                if encoding != RAW:
                    continue
                for row in range(height):
                    start = 4 * ((y + row) * self.width + x)
                    screen[start:start + 4 * width] = pixels[4 * width * row:4 * width * (row + 1)]
                missing -= width * height
        rgb = bytearray(3 * self.width * self.height)
        rgb[0::3], rgb[1::3], rgb[2::3] = screen[2::4], screen[1::4], screen[0::4]
        return bytes(rgb)
