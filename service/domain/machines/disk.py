"""Decide how much of a machine's disk must stay free, and which cached directories to evict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

DAY: Final = 86_400.0  # seconds
UNUSED_KEPT: Final = 30 * DAY  # as long as built programs are kept without use
# A build ends within a day, and may read what it fetched until then.
IN_USE: Final = DAY
_OBSTACLE: Final = "its disk has "


@dataclass(frozen=True, slots=True)
class Disk:
    """Room of a file system in bytes. If its files run out sooner, ``free`` is their share of ``total``."""

    total: int
    free: int

    @property
    def needed(self) -> int:
        """Bytes that must be free before a build begins: 5 %, at most 10 GiB, and 2 GiB unless it is tiny."""
        return max(min(2 << 30, self.total // 4), min(self.total // 20, 10 << 30))

    @property
    def is_full(self) -> bool:
        """Return whether a running program must be stopped; one that failed may have lacked room."""
        return self.free < min(512 << 20, self.needed // 2)

    @property
    def wants_room(self) -> bool:
        """Return whether cached directories should go: less than a tenth is free."""
        return self.free < max(self.total // 10, self.needed)

    @property
    def obstacle(self) -> str:
        """The reason to take no build; empty if there is room for one."""
        return f"{_OBSTACLE}{self.shortage}" if self.shortage else ""

    @property
    def shortage(self) -> str:
        """The free room, if it is too little, and what is needed: ``1.1 GiB free, and needs 5.0 GiB``."""
        if self.free >= self.needed:
            return ""
        return f"{self.free / (1 << 30):.1f} GiB free, and needs {self.needed / (1 << 30):.1f} GiB"


def unreadable(error: OSError) -> str:
    """Return the obstacle of a disk that does not answer."""
    return f"{_OBSTACLE}an error: {error.strerror or error}"


def keeps_from_all(obstacle: str) -> bool:
    """Return whether an obstacle keeps a machine from every build, and not only from measuring."""
    return obstacle.startswith(_OBSTACLE)


def in_sql(obstacle: str) -> str:
    """Return ``keeps_from_all`` of a column as SQL."""
    return f"starts_with({obstacle}, '{_OBSTACLE}')"


@dataclass(frozen=True, slots=True)
class CachedDirectory:
    """A directory that can be fetched again, and when it was used last: seconds since 1970."""

    path: str
    used_at: float


def to_evict(
    cached: Iterable[CachedDirectory], now: float, disk: Callable[[], Disk], *, is_unused: bool = False
) -> Iterator[CachedDirectory]:
    """Yield the directories to evict, the least recently used first; ``disk`` is asked again before each.

    Those unused for 30 days go always, others only while less than a tenth of the disk is free. One that was
    used within a day may be in use, and stays. If no build runs (``is_unused``), it goes, too, while there is
    no room for a build: else one could keep a machine from all others for a day.
    """
    for each in sorted(cached, key=lambda one: one.used_at):
        unused = now - each.used_at
        is_old = unused > UNUSED_KEPT or (unused > IN_USE and disk().wants_room)
        if is_old or (is_unused and disk().shortage):
            yield each
