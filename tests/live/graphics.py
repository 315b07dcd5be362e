"""A descriptor of a domain's VNC server, from libvirt itself: a node has no Python module for it."""

import ctypes
import socket

SKIPAUTH = 1  # VIR_DOMAIN_OPEN_GRAPHICS_SKIPAUTH


class Graphics:
    def __init__(self, domain):
        self.library = ctypes.CDLL("libvirt.so.0")
        for name in ("virConnectOpen", "virDomainLookupByName"):
            getattr(self.library, name).restype = ctypes.c_void_p
        self.library.virDomainLookupByName.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self.library.virDomainOpenGraphicsFD.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
        self.connection = self.library.virConnectOpen(b"qemu:///system")
        self.domain = self.library.virDomainLookupByName(self.connection, domain.encode())

    def open(self):
        """A connected socket, at the start of RFB's handshake."""
        number = self.library.virDomainOpenGraphicsFD(self.domain, 0, SKIPAUTH)
        if number < 0:
            raise OSError("libvirt gives no descriptor of the guest's display")
        return socket.socket(fileno=number)

    def shake_hands(self, shared):
        """An RFB 3.8 session (RFC 6143 section 7.1 to 7.3) up to ServerInit; gives the socket."""
        connection = self.open()
        connection.settimeout(10)
        take = lambda size: connection.recv(size, socket.MSG_WAITALL)
        take(12)
        connection.sendall(b"RFB 003.008\n")
        take(take(1)[0])
        connection.sendall(b"\1")  # no authentication
        take(4)
        connection.sendall(b"\1" if shared else b"\0")
        take(24)
        return connection
