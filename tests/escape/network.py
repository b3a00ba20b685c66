"""Attempts on the network, and on communication between processes."""

from __future__ import annotations

from typing import Final

from tests.escape.attempt import Attempt, By, Control

SOCKET: Final = "import socket\n"
NETWORK: Final = tuple(
    Attempt("network", attempted, By.NETWORK, refused, SOCKET + body)
    for attempted, refused, body in (
        (
            "connect to the host's loopback",
            "ECONNREFUSED",
            "socket.create_connection(('127.0.0.1', int(lure('HOST_PORT'))), 5)",
        ),
        (
            "connect to it by IPv6",
            "ECONNREFUSED EADDRNOTAVAIL EAFNOSUPPORT ENETUNREACH",
            "socket.create_connection(('::1', int(lure('HOST_PORT'))), 5)",
        ),
        ("connect to an address outside", "ENETUNREACH", "socket.create_connection(('192.0.2.1', 443), 5)"),
        (
            "send a datagram outside",
            "ENETUNREACH",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
        ),
        (
            "reach the metadata of a cloud",
            "ENETUNREACH",
            "socket.create_connection(('169.254.169.254', 80), 5)",
        ),
        (
            "connect to an abstract socket of the host",
            "ECONNREFUSED",
            "socket.socket(socket.AF_UNIX).connect('\\0' + lure('HOST_ABSTRACT'))",
        ),
        (
            "connect to a socket file of the host",
            "ENOENT",
            "socket.socket(socket.AF_UNIX).connect(lure('HOST_SOCKET'))",
        ),
        ("see interfaces", "held", "need([name for _, name in socket.if_nameindex() if name != 'lo'])"),
        (
            "resolve a name",
            "held",
            "try:\n    socket.getaddrinfo('a.org', 1)\nexcept socket.gaierror:\n    raise Held from None",
        ),
    )
)
FAMILIES: Final = (
    *(
        Attempt("network: families", attempted, By.FILTER, "EAFNOSUPPORT", SOCKET + body)
        for attempted, body in (
            ("open a socket to the host of a virtual machine", "socket.socket(40, 1)"),
            ("open a socket of the kernel's crypto", "socket.socket(38, 5)"),
            ("open a packet socket", "socket.socket(17, 3)"),
            ("open a socket past the network stack", "socket.socket(44, 3)"),
            ("open a Bluetooth socket", "socket.socket(31, 3)"),
            ("open a key management socket", "socket.socket(15, 3, 2)"),
            ("open a socket of a cluster", "socket.socket(30, 1)"),
            ("open a pair of these", "call('socketpair', 30, 1, 0, (ctypes.c_int * 2)())"),
            ("open a socket of a CAN bus", "socket.socket(29, 3, 1)"),
        )
    ),
    Attempt(
        "network: families", "open a raw socket", By.PRIVILEGES, "EPERM", SOCKET + "socket.socket(2, 3, 1)"
    ),
    Attempt(
        *("network: families", "add a route by netlink", By.PRIVILEGES, "EPERM"),
        SOCKET
        + """
import struct
link = socket.socket(16, 3, 0)
link.send(struct.pack("=IHHII8BI", 28, 24, 0x605, 1, 0, 2, 0, 0, 0, 254, 3, 0, 1, 0))
error = -struct.unpack("=i", link.recv(100)[16:20])[0]
if error:
    raise OSError(error, "")
""",
    ),
    Attempt(
        *("network: families", "open one by the 32-bit interface", By.FILTER, "EAFNOSUPPORT"),
        *("foreign('32', 359, 40, 1, 0)",),
        only="x86_64",
    ),
    Attempt(
        *("network: families", "open one by the old call for all sockets", By.FILTER, "ENOSYS"),
        *("foreign('32', 102, 1, 0)",),
        only="x86_64",
    ),
    Attempt(
        *("network: families", "open one by the numbers of x32", By.FILTER, "ENOSYS"),
        *("foreign('x32', 41, 40, 1, 0)",),
        only="x86_64",
    ),
    Attempt(
        "network: families",
        "open one by io_uring",
        By.FILTER,
        "ENOSYS",
        "call('io_uring_setup', 8, ctypes.create_string_buffer(120))",
    ),
    Attempt(
        *("network: families", "open one by io_uring of the 32-bit interface", By.FILTER, "ENOSYS"),
        *("foreign('32', 425, 8, '')",),
        only="x86_64",
    ),
)
IPC: Final = tuple(
    Attempt("communication", attempted, by, refused, body)
    for attempted, by, refused, body in (
        (
            "find shared memory of the host by its key",
            By.IPC,
            "ENOENT",
            "call('shmget', int(lure('HOST_SHM')), 0, 0)",
        ),
        (
            "find semaphores of the host by their key",
            By.IPC,
            "ENOENT",
            "call('semget', int(lure('HOST_SHM')), 0, 0)",
        ),
        (
            "find a message queue of the host by its key",
            By.IPC,
            "ENOENT",
            "call('msgget', int(lure('HOST_SHM')), 0)",
        ),
        (
            "list shared memory of the host",
            By.IPC,
            "held",
            "need(open('/proc/sysvipc/shm').read().count('\\n') > 1)",
        ),
        (
            "open a named queue of the host",
            By.IPC,
            "ENOENT EACCES",
            "call('mq_open', lure('HOST_ABSTRACT').encode(), 0, 0, None)",
        ),
        (
            "open shared memory of the host by its name",
            By.MOUNTS,
            "ENOENT",
            "read('/dev/shm/' + lure('HOST_ABSTRACT'))",
        ),
    )
)

COMMUNICATION: Final = (*NETWORK, *FAMILIES, *IPC)
CONTROLS: Final = (
    Control(
        *("network", "a program connects to its own server on loopback"),
        SOCKET
        + "with socket.create_server(('127.0.0.1', 0)) as s:\n    socket.create_connection(s.getsockname())",
    ),
    Control(
        *("network: families", "sockets of the allowed families can be opened"),
        SOCKET + "for family in (1, 2, 10, 16):\n    socket.socket(family, 2).close()\nsocket.socketpair()",
    ),
    Control(
        *("communication", "a program shares memory with its children"),
        "import mmap\nmemory = mmap.mmap(-1, 4096)\nif os.fork() == 0:\n    memory[0] = 7\n    os._exit(0)\n"
        "os.wait()\nneed(memory[0] == 7)\ncall('shmget', 4711, 4096, 0o1600)\nwrite('/dev/shm/own')",
    ),
)
