"""The few calls of libvirt that tests make all the time, in this process: virsh is a process for each, and there is no
Python module for libvirt on a node.
"""

import ctypes
import functools
import threading

SKIPAUTH = 1  # VIR_DOMAIN_OPEN_GRAPHICS_SKIPAUTH

_lock = threading.Lock()
_library, _qemu = ctypes.CDLL("libvirt.so.0"), ctypes.CDLL("libvirt-qemu.so.0")
_connection = None


def _declare():
    """The types of what is called: pointers are not ints."""
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint
    for function, result, *arguments in (
            (_library.virConnectOpen, pointer, text), (_library.virConnectIsAlive, ctypes.c_int, pointer),
            (_library.virConnectClose, ctypes.c_int, pointer),
            (_library.virConnectListAllDomains, ctypes.c_int, pointer, ctypes.POINTER(ctypes.POINTER(pointer)), number),
            (_library.virDomainLookupByName, pointer, pointer, text), (_library.virDomainFree, ctypes.c_int, pointer),
            (_library.virDomainGetName, text, pointer), (_library.virDomainGetXMLDesc, pointer, pointer, number),
            (_library.virDomainOpenGraphicsFD, ctypes.c_int, pointer, number, number),
            (_library.virGetLastErrorMessage, text), (_library.virSetErrorFunc, None, pointer, pointer),
            (_qemu.virDomainQemuAgentCommand, pointer, pointer, text, ctypes.c_int, number)):
        function.restype, function.argtypes = result, arguments
    # what fails is an exception here, and nothing on stderr
    _declare.quiet = ctypes.CFUNCTYPE(None, pointer, pointer)(lambda data, error: None)
    _library.virSetErrorFunc(None, _declare.quiet)


_declare()


def _fail(what):
    raise AssertionError("%s: %s" % (what, _library.virGetLastErrorMessage().decode(errors="replace")))


def _connected():
    """A connection to qemu:///system, another one when libvirtd has been started again."""
    global _connection
    with _lock:
        if _connection and _library.virConnectIsAlive(_connection) != 1:
            _library.virConnectClose(_connection)
            _connection = None
        if not _connection:
            _connection = _library.virConnectOpen(b"qemu:///system") or _fail("libvirt")
        return _connection


def _over_a_restart(function):
    """Has the call made once more where the connection turns out to be broken: that shows only when it is written to."""
    @functools.wraps(function)
    def call(*arguments):
        try:
            return function(*arguments)
        except AssertionError:
            if _connection and _library.virConnectIsAlive(_connection) == 1:
                raise
            return function(*arguments)

    return call


class _Domain:
    """A domain by its name, as libvirt's handle."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.handle = _library.virDomainLookupByName(_connected(), self.name.encode()) or _fail(self.name)
        return self.handle

    def __exit__(self, *error):
        _library.virDomainFree(self.handle)


def _taken(address):
    """The text at an address that libvirt gave, which is freed."""
    text = ctypes.cast(address, ctypes.c_char_p).value.decode(errors="replace")
    ctypes.CDLL(None).free(ctypes.c_void_p(address))
    return text


@_over_a_restart
def agent_command(name, request, seconds):
    """One request to the guest agent of a domain; gives its answer's text."""
    with _Domain(name) as domain:
        return _taken(_qemu.virDomainQemuAgentCommand(domain, request.encode(), seconds, 0) or _fail("agent of " + name))


@_over_a_restart
def domain_names():
    """The names of all domains."""
    connection = _connected()
    domains = ctypes.POINTER(ctypes.c_void_p)()
    count = _library.virConnectListAllDomains(connection, ctypes.byref(domains), 0)
    if count < 0:
        _fail("the list of domains")
    names = [_library.virDomainGetName(domains[n]).decode() for n in range(count)]
    for n in range(count):
        _library.virDomainFree(domains[n])
    ctypes.CDLL(None).free(domains)
    return names


@_over_a_restart
def xml_of(name):
    """The live XML of a domain."""
    with _Domain(name) as domain:
        return _taken(_library.virDomainGetXMLDesc(domain, 0) or _fail(name))


@_over_a_restart
def graphics_of(name):
    """A descriptor of a domain's VNC server, connected, at the start of RFB's handshake."""
    with _Domain(name) as domain:
        number = _library.virDomainOpenGraphicsFD(domain, 0, SKIPAUTH)
        return _fail("the display of " + name) if number < 0 else number
