"""The scratch space of workers: each one that starts removes the directories of killed workers."""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

import structlog
from typing_extensions import override

from service.adapters.system.removal import remove_tree
from service.domain.values.errors import Permanent, Transient
from service.ports.building import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX: Final = "worker-"
# Earlier versions lock nothing, and their workers may still run during an upgrade. No build takes so long.
_UNLOCKED_KEPT: Final = 86_400.0  # seconds


class DirectoryScratch(Scratch):
    """A directory of this process below ``root``, which other processes may share.

    The process holds a lock on its directory for as long as it lives. Creating the object removes the
    directories that nobody holds, except those younger than a day that an earlier version created.
    Unlike a process ID, a lock works across containers.

    Args:
        root: the common directory, with nothing else in it; created if it is missing.

    Raises:
        Transient: the disk is full or does not answer.
    """

    def __init__(self, root: Path) -> None:
        self._own = root.absolute() / f"{_PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
        with _translated(root):
            root.mkdir(parents=True, exist_ok=True)
            # Everybody who looks for directories without a holder waits until the new one has its holder.
            with _locked(os.open(root.with_name(root.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)):
                stale = _take_stale(root)
                self._own.mkdir()
                self._lock = os.open(self._own, os.O_RDONLY | os.O_DIRECTORY)
                fcntl.flock(self._lock, fcntl.LOCK_EX)
        for directory, lock in stale:
            try:
                remove_tree(directory)
            except Permanent as error:  # work is possible beside it
                structlog.get_logger().warning("scratch.not_removed", error=str(error))
            finally:
                os.close(lock)

    @override
    @contextmanager
    def directory(self) -> Iterator[Path]:
        with _translated(self._own):
            directory = Path(mkdtemp(dir=self._own))
        try:
            yield directory
        finally:
            remove_tree(directory)


def _take_stale(root: Path) -> list[tuple[Path, int]]:
    """Lock the directories that nobody holds or may use without a lock; return each with its lock."""
    taken = []
    for directory in root.iterdir():
        if directory.is_symlink() or not directory.is_dir():
            continue
        try:
            lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # its worker has just removed it
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        if directory.name.startswith(_PREFIX) or time.time() - os.fstat(lock).st_mtime > _UNLOCKED_KEPT:
            taken.append((directory, lock))
        else:
            os.close(lock)
    return taken


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _translated(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Transient(f"{directory}: {error.strerror or error}") from error
