"""Chooses the loopback ports of a server."""

from __future__ import annotations

import socket
from typing import Final

from tools.gerrit_dev.reporting import CannotServe

HOST: Final = "127.0.0.1"
Ports = tuple[int, int]


def chosen_ports(wanted: Ports, before: Ports, *, are_held: bool) -> Ports:
    """The ports for HTTP and SSH: those asked for, else those of before, else free ones (0: none).

    Args:
        wanted: what was asked for.
        before: what the server had when it ran last.
        are_held: whether it runs still, and gives them back before it is started anew.

    Raises:
        CannotServe: a port that was asked for cannot be had.
    """
    ours = before if are_held else (0, 0)
    for port in wanted:
        if port not in {0, *ours} and (problem := _problem_with(port)):
            raise CannotServe(f"port {port}: {problem}")
    again = [port if port in ours or not _problem_with(port) else 0 for port in before]
    choices = zip(wanted, again, _free_ports(), strict=True)
    http, ssh = (ask or old or new for ask, old, new in choices)
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
    # Both are open at once, or the second could be given the number of the first.
    with socket.socket() as http, socket.socket() as ssh:
        http.bind((HOST, 0))
        ssh.bind((HOST, 0))
        return http.getsockname()[1], ssh.getsockname()[1]


def is_open(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex((HOST, port)) == 0
