"""Choose a server's loopback ports."""

from __future__ import annotations

import socket
from typing import Final

from tools.gerrit_dev.reporting import CannotServe

HOST: Final = "127.0.0.1"
Ports = tuple[int, int]


def choose_ports(wanted: Ports, before: Ports, *, are_held: bool) -> Ports:
    """Choose the ports for HTTP and SSH: the requested ones, else the last ones, else free ones (0: none).

    Args:
        wanted: the requested ports.
        before: the ports of the server's last run.
        are_held: whether the server still runs; it will release them before its restart.

    Raises:
        CannotServe: a requested port is not available.
    """
    ours = before if are_held else (0, 0)
    for port in wanted:
        if port not in {0, *ours} and (problem := _problem_with(port)):
            raise CannotServe(f"port {port}: {problem}")
    usable = [port if port in ours or not _problem_with(port) else 0 for port in before]
    choices = zip(wanted, usable, _free_ports(), strict=True)
    http, ssh = (requested or old or new for requested, old, new in choices)
    return http, ssh


def _problem_with(port: int) -> str:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            return error.strerror or str(error)
    return ""


def _free_ports() -> Ports:
    # Both sockets are open at the same time, so that their ports differ.
    with socket.socket() as http, socket.socket() as ssh:
        http.bind((HOST, 0))
        ssh.bind((HOST, 0))
        return http.getsockname()[1], ssh.getsockname()[1]


def is_open(port: int) -> bool:
    """Return whether a program listens on the port."""
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex((HOST, port)) == 0
