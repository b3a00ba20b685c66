"""Observe which files of a tree are opened, by the kernel's watches (inotify) on its directories."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.building.built_files import Opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["observe"]

MAX_DIRECTORIES: Final = 200_000  # the kernel keeps about 1 KiB for each
# Bits of <sys/inotify.h>.
_OPEN: Final = 0x20
_ONLY_DIRECTORIES: Final = 0x01000000
_FOLLOW_NO_LINK: Final = 0x02000000
# The queue of events was full, or a watch is gone, because its directory is.
_LOST: Final = 0x4000 | 0x8000 | 0x2000
_HEAD: Final = struct.Struct("=iIII")  # watch, events, cookie, length of the name
_BUFFER: Final = 1 << 16
_LIMITS: Final = MappingProxyType(
    {
        errno.ENOSPC: "the tree has more directories than fs.inotify.max_user_watches leaves",
        errno.EMFILE: "more programs watch files than fs.inotify.max_user_instances allows",
    }
)
LOST: Final = "more files were opened at once than the kernel reports, or directories were removed"


@contextmanager
def observe(tree: Path) -> Iterator[Callable[[], Opened]]:
    """Observe a tree during the block; see :class:`service.ports.building.OpenedFiles`.

    The kernel watches the directories themselves, not their paths, so mounts of a sandbox make no difference,
    and no program in one sees the watches.
    """
    watches = _Watches()
    try:
        watches.start(tree)
        yield watches.opened
    finally:
        watches.close()


class _Watches:
    """The watches on the directories of a tree."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)
        self._descriptor = -1
        self._directories: dict[int, str] = {}
        self._unknown = ""

    def start(self, tree: Path) -> None:
        """Watch all directories; if that is not possible, everything remains unknown."""
        try:
            # Before the first watch, because the search opens the directories.
            directories = list(_directories(tree))
            self._descriptor = self._checked(self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
            for path in directories:
                name = os.fsencode(tree / path)
                mask = ctypes.c_uint32(_OPEN | _ONLY_DIRECTORIES | _FOLLOW_NO_LINK)
                watch = self._library.inotify_add_watch(self._descriptor, name, mask)
                self._directories[self._checked(watch)] = path
        except OSError as error:
            self._unknown = _LIMITS.get(error.errno or 0, str(error.strerror))

    def opened(self) -> Opened:
        """Return what was opened since the last call."""
        paths = set[str]()
        while events := self._read():
            for watch, bits, name in _parsed(events):
                if bits & _LOST:
                    self._unknown = self._unknown or LOST
                else:
                    paths.add(str(Path(self._directories[watch], os.fsdecode(name))))
        return Opened(frozenset(paths), self._unknown)

    def close(self) -> None:
        """Remove the watches."""
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _BUFFER) if self._descriptor >= 0 else b""
        except BlockingIOError:
            return b""

    def _checked(self, answer: int) -> int:
        if answer < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return answer


def _directories(tree: Path) -> Iterator[str]:
    """Yield all directories of a tree by their relative paths, itself included, without following links."""
    waiting, left = [""], MAX_DIRECTORIES
    while waiting:
        here = waiting.pop()
        yield here
        with os.scandir(tree / here) as entries:
            inner = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        left -= len(inner)
        if left < 0:
            raise OSError(errno.E2BIG, f"the tree has more than {MAX_DIRECTORIES} directories")
        waiting += [str(Path(here, name)) for name in inner]


def _parsed(events: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the watch, the bits and the name of each event; a watched directory itself has no name."""
    place = 0
    while place < len(events):
        watch, bits, _, length = _HEAD.unpack_from(events, place)
        place += _HEAD.size
        yield watch, bits, events[place : place + length].rstrip(b"\0")
        place += length
