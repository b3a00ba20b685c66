"""Evict directories that can be fetched again; each keeps the time of its last use as its own."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
from typing_extensions import override

from service.adapters.system.disk import disk_of
from service.adapters.system.locking import lock_on
from service.adapters.system.removal import remove_tree
from service.domain.machines.disk import CachedDirectory
from service.domain.values.errors import Permanent
from service.ports.machines import Caches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.machines.disk import Disk

_ASIDE: Final = "evicted-"
_LOCK: Final = ".lock"
# Mirrors and other caches below the home of a machine, or of the control plane.
PATTERNS: Final = (
    "git/mirrors/*.git",
    "git/instances/*/mirrors/*.git",
    "git/submodules/*.git",
    "git/submodules/lfs/*",
    "dependencies/entries/*",
    "dependencies/sets/*",
    "compiler-cache/*",
)


def mark_used(path: Path) -> None:
    """Note that a cached directory is used now, so that it stays; do so before looking into it.

    Waits while another process is deciding whether to evict it, and is then late or in time, never between.
    """
    with suppress(FileNotFoundError), lock_on(path, is_shared=True) as descriptor:
        os.utime(descriptor)


class DirectoryCaches(Caches):
    """The caches below a home that any number of processes may share.

    A directory is evicted only if nobody holds its lock and nobody has used it since it was listed. It is
    moved aside in one step, so nobody sees a part of it. What a killed process left aside is removed the next
    time. Nothing needs room on the disk for this, not even for the file of a lock.
    """

    def __init__(self, home: Path) -> None:
        self._home = home.absolute()

    @override
    def disk(self) -> Disk:
        return disk_of(self._home)

    @override
    def cached(self) -> Iterator[CachedDirectory]:
        for pattern in PATTERNS:
            for path in self._home.glob(pattern):
                if path.suffix != _LOCK and not path.is_symlink():
                    with suppress(OSError):  # another process has evicted it, or another user owns it
                        is_aside = path.name.startswith(_ASIDE)
                        yield CachedDirectory(str(path), 0.0 if is_aside else _used_at(path))

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Note that a build uses the caches until the end of the block; waits for an eviction without one."""
        with lock_on(self._home, is_shared=True):
            yield

    @contextmanager
    def unused(self) -> Iterator[bool]:
        """Return whether no build uses the caches; none begins to until the end of the block."""
        with ExitStack() as locks:
            try:
                locks.enter_context(lock_on(self._home, waits=False))
            except BlockingIOError:
                yield False
            else:
                yield True

    @override
    def evict(self, each: CachedDirectory) -> bool:
        path = Path(each.path)
        is_aside = path.name.startswith(_ASIDE)
        aside = path if is_aside else path.with_name(f"{_ASIDE}{secrets.token_hex(8)}{path.suffix}")
        try:
            with ExitStack() as locks:
                locks.enter_context(lock_on(path, waits=False))
                with suppress(FileNotFoundError):  # nobody ever locked it to write to it
                    locks.enter_context(lock_on(path.with_name(path.name + _LOCK), waits=False))
                if not is_aside and path.stat().st_mtime > each.used_at:
                    return False
                path.rename(aside)
            remove_tree(aside)
        except BlockingIOError:
            return False
        except (OSError, Permanent) as error:  # another user owns it, or another process evicted it
            structlog.get_logger().warning("cache.not_evicted", path=each.path, error=str(error))
            return False
        structlog.get_logger().info("cache.evicted", path=each.path)
        return True


def _used_at(path: Path) -> float:
    """Return when a directory was used last. A time in the future, of a clock that was wrong, becomes now."""
    if (used_at := path.stat().st_mtime) <= time.time():
        return used_at
    os.utime(path)
    return path.stat().st_mtime
