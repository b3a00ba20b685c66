"""Start and stop one embedded server in a directory of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from service.adapters.embedded.children import Supervisor
from service.adapters.embedded.directory import Directory

if TYPE_CHECKING:
    from pathlib import Path

    from service.adapters.embedded.process import Child


class EmbeddedServer(ABC):
    """A server in one directory that listens only on a Unix socket.

    Args:
        data_dir: the directory of its data, passwords and, if the path is short enough, ``socket``. Nothing
            else on the machine changes.
    """

    def __init__(self, data_dir: Path) -> None:
        self._directory = Directory(data_dir)
        self._supervisor = Supervisor()

    def start(self, *, durable: bool = True) -> Self:
        """Start the server without supervision (tests, short commands); end it with :meth:`stop`.

        Raises:
            Permanent: it did not start; the message has the end of its log.
            Unfit: another process uses the directory, or this user cannot run a server in it.
        """
        try:
            self._supervisor.start(self.prepare(self._directory.path / "log", durable=durable))
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop the server that :meth:`start` started, and release the directory."""
        self._supervisor.stop()
        self.release()

    def prepare(self, log_dir: Path, *, durable: bool = True) -> Child:
        """Prepare the directory, and describe the process for a supervisor.

        Locks the directory until :meth:`release`, ends a server that a killed supervisor left, and creates
        missing files.

        Args:
            log_dir: the server appends to a log in this directory.
            durable: False: faster, but a crash of the machine loses data.

        Raises:
            Permanent: the files could not be created.
            Unfit: another process uses the directory, or this machine or user cannot run a server in it.
            Transient: a server of an earlier start does not end.
        """
        self._directory.hold()
        try:
            return self._prepare(log_dir, durable=durable)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Release the directory; call it after the server has ended."""
        self._directory.release()

    @abstractmethod
    def _prepare(self, log_dir: Path, *, durable: bool) -> Child:
        """Prepare the locked directory, and describe the process."""
