"""Give each worker scratch space; a worker that starts removes the directories of killed ones."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

import structlog
from typing_extensions import override

from service.adapters.system.locking import locked, make_locked, take_unlocked
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

    The process locks its directory for as long as it lives. Creating the object removes unlocked directories,
    except those younger than a day that an earlier version created.

    Args:
        root: the common directory, with nothing else in it; created if it is missing.

    Raises:
        Transient: the disk is full or does not answer.
    """

    def __init__(self, root: Path) -> None:
        self._own = root.absolute() / f"{_PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
        with _translated(root):
            root.mkdir(parents=True, exist_ok=True)
            # A process that looks for unlocked directories waits until the new one is locked.
            with locked(root):
                stale = _take_stale(root)
                self._lock = make_locked(self._own)
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
    """Lock the stale directories, and return each with its lock.

    Stale is one that nobody locked, unless an earlier version, which locks none, may still use it.
    """
    taken = []
    for directory, lock in take_unlocked(root):
        if directory.name.startswith(_PREFIX) or time.time() - os.fstat(lock).st_mtime > _UNLOCKED_KEPT:
            taken.append((directory, lock))
        else:
            os.close(lock)
    return taken


@contextmanager
def _translated(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Transient(f"{directory}: {error.strerror or error}") from error
