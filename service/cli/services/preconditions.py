"""What must hold on this machine before anything is started, so that a refusal comes at once."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING

from service.adapters.sandbox.bubblewrap import BubblewrapSandbox
from service.config import MachineSettings
from service.domain.errors import Unfit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def check_host(port: int, settings: Mapping[str, str]) -> None:
    """See that programs can be isolated here and that the web part can listen on ``port`` (0: any).

    ``settings`` are BENCHGATE_ variables that go before those of the environment.

    Raises:
        Unfit: one of the two is not so; the message says how to mend it.
    """
    if (settings.get("BENCHGATE_SANDBOX") or MachineSettings().sandbox) != "none":
        BubblewrapSandbox().check()
    if port:
        check_port("127.0.0.1", port)


def check_port(host: str, port: int) -> None:
    """See that a server can listen there.

    Raises:
        Unfit: another program does, or this user may not.
    """
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            # As the server does it: connections that have ended a moment ago are not in the way.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Unfit(f"port {port} is in use; choose another with --port") from error
        raise Unfit(
            f"{host}:{port} cannot be listened on: {error.strerror}; choose another with --port"
        ) from error


def make_home(home: Path) -> None:
    """Make the directory of a site, with that of its logs.

    Raises:
        Unfit: this user can keep nothing there.
    """
    logs = home / "log"
    try:
        logs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(home, error.strerror or str(error)) from error
    if not (os.access(home, os.W_OK) and os.access(logs, os.W_OK)):
        raise _unusable(home, "no permission to write")


def _unusable(home: Path, why: str) -> Unfit:
    return Unfit(f"nothing can be kept in {home}: {why}; choose another directory with --home")
