"""Evict directories that can be fetched again; each keeps the time of its last use as its own."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
from typing_extensions import override

from service.adapters.system.disk import disk_of
from service.adapters.system.locking import try_lock
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
    """Note that a cached directory is used now, so that it stays for a day; do so before looking into it."""
    with suppress(FileNotFoundError):
        os.utime(path)


class DirectoryCaches(Caches):
    """The caches below a home that any number of processes may share.

    A directory is moved aside in one step, so nobody sees a part of it, and only if nobody holds its lock.
    If it was used meanwhile, it comes back. What a killed process left aside is removed the next time.
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
                    with suppress(FileNotFoundError):  # another process has evicted it
                        is_aside = path.name.startswith(_ASIDE)
                        yield CachedDirectory(str(path), 0.0 if is_aside else path.stat().st_mtime)

    @override
    def evict(self, each: CachedDirectory) -> bool:
        path = Path(each.path)
        aside = path.with_name(f"{_ASIDE}{secrets.token_hex(8)}{path.suffix}")
        lock = os.open(path.with_name(path.name + _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not try_lock(lock):
                return False
            path.rename(aside)
            if each.used_at and aside.stat().st_mtime > each.used_at:
                aside.rename(path)
                return False
        except OSError as error:  # its directory cannot be written, or another process evicted it
            structlog.get_logger().warning("cache.not_evicted", path=each.path, error=str(error))
            return False
        finally:
            os.close(lock)
        try:
            remove_tree(aside)
        except Permanent as error:
            structlog.get_logger().warning("cache.not_removed", error=str(error))
        structlog.get_logger().info("cache.evicted", path=each.path)
        return True
