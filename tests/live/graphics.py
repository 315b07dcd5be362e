"""A client of a domain's own VNC server, which libvirt hands out."""

import socket

import libvirt_calls


class Graphics:
    def __init__(self, domain):
        self.domain = domain

    def open(self):
        """A connected socket, at the start of RFB's handshake."""
        return socket.socket(fileno=libvirt_calls.graphics_of(self.domain))

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
