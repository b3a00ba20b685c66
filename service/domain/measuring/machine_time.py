"""Charge launches to the machine time of a build."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.values.identity import Side

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.domain.measuring.launch import Launch

# Measuring takes at most this multiple of the policy's machine time, including pairs up to the first decisive
# look and what launches of the patch take beyond those of the parent.
STRETCH: Final = 4


@dataclass(frozen=True, slots=True)
class MachineTime:
    """The policy's seconds, and those that measuring took so far.

    The patch's launches are charged only up to the time of the parent's, so a slow patch cannot use up the
    time that would prove it slow. ``is_strict``: a person waits and chose the seconds; all are charged.
    """

    seconds: float
    elapsed: float
    added_by_patch: float
    is_strict: bool = False

    @staticmethod
    def after(
        seconds: float, elapsed: float, launches: Iterable[Launch], *, is_strict: bool = False
    ) -> MachineTime:
        """Charge these launches."""
        taken = dict.fromkeys(Side, 0.0)
        for launch in launches:
            taken[launch.side] += launch.seconds
        added = 0.0 if is_strict else max(0.0, taken[Side.PATCH] - taken[Side.BASE])
        return MachineTime(seconds, elapsed, added, is_strict)

    @property
    def left(self) -> float:
        """Seconds left; negative if more were used."""
        return self.seconds - (self.elapsed - self.added_by_patch)

    @property
    def wall_left(self) -> float:
        """Seconds until it is used up if launches go on like this: some seconds are not charged."""
        charged = self.elapsed - self.added_by_patch
        left = self.left * self.elapsed / charged if charged > 0 else self.left
        return max(0.0, min(left, self._most - self.elapsed))

    @property
    def _most(self) -> float:
        return (1 if self.is_strict else STRETCH) * self.seconds

    @property
    def is_overdrawn(self) -> bool:
        """Return whether no further pair may begin, no matter which side took the time."""
        return self.elapsed > self._most

    @property
    def is_used_up_by_patch(self) -> bool:
        """Return whether measuring ends only because of slow launches of the patch."""
        return self.is_overdrawn and self.left > 0
