"""Check preconditions before anything starts, so that a refusal comes at once."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.config.machine import MachineSettings
from service.domain.values.errors import Unfit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def check_host(port: int, settings: Mapping[str, str]) -> None:
    """Check that this host can sandbox programs and that ``port`` is free (0: any port).

    ``settings`` are BENCHGATE_ variables that override those of the environment.

    Raises:
        Unfit: the host cannot, or the port is taken; the message names the remedy.
    """
    if (settings.get("BENCHGATE_SANDBOX") or MachineSettings().sandbox) != "none":
        BubblewrapSandbox()  # which tries this host
    if port:
        check_port("127.0.0.1", port)


def check_port(host: str, port: int) -> None:
    """Check that a server can listen on a port.

    Raises:
        Unfit: another program listens there, or this user has no permission to.
    """
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            # The server sets it, too: connections that have just ended do not block the port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Unfit(f"port {port} is in use; choose another port with --port") from error
        raise Unfit(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another port with --port"
        ) from error


def make_home(home: Path) -> None:
    """Create the directory of a site and its log directory.

    Raises:
        Unfit: this user cannot write there.
    """
    logs = home / "log"
    try:
        logs.mkdir(parents=True, exist_ok=True)
        if not (os.access(home, os.W_OK) and os.access(logs, os.W_OK)):
            raise PermissionError(errno.EACCES, "no permission to write")
    except OSError as error:
        raise Unfit(
            f"cannot store data in {home}: {error.strerror or error}; choose another directory with --home"
        ) from error
