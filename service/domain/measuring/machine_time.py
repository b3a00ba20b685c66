"""Machine time: the seconds that a build may still measure, charged by the launches of the parent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.values.identity import Side

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.domain.measuring.launch import Launch

# Times the machine time that measuring may take altogether: until the first look that can find a difference,
# and with what launches of the patch take longer than those of the parent.
STRETCH: Final = 4


@dataclass(frozen=True, slots=True)
class MachineTime:
    """The policy's seconds, and those that measuring has taken so far.

    The time by which launches of the patch exceed those of the parent is not charged, so that a patch cannot
    use up the time in which its slow-down would be found.
    """

    seconds: float
    elapsed: float
    added_by_patch: float

    @staticmethod
    def after(seconds: float, elapsed: float, launches: Iterable[Launch]) -> MachineTime:
        """The machine time after these launches."""
        taken = dict.fromkeys(Side, 0.0)
        for launch in launches:
            taken[launch.side] += launch.seconds
        return MachineTime(seconds, elapsed, max(0.0, taken[Side.PATCH] - taken[Side.BASE]))

    @property
    def left(self) -> float:
        """The seconds left; negative if more were used."""
        return self.seconds - (self.elapsed - self.added_by_patch)

    @property
    def is_overdrawn(self) -> bool:
        """Return whether no pair is begun any more, no matter which side took the time."""
        return self.elapsed > STRETCH * self.seconds

    @property
    def is_used_up_by_patch(self) -> bool:
        """Return whether measuring ends only because launches of the patch take so long."""
        return self.is_overdrawn and self.left > 0
