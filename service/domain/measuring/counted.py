"""Store the instruction counts of both sides."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from service.domain.measuring.callgrind import Trial
from service.domain.values.identity import Side

_MAX_COUNT: Final = 10**18


@dataclass(frozen=True, slots=True)
class Counted:
    """Timed loops of one benchmark on one side, by launch, or ``why`` there are none."""

    launches: tuple[tuple[Trial, ...], ...] = ()
    why: str = ""

    def to_mapping(self) -> dict[str, Any]:
        """Convert to plain values for JSON."""
        launches = [[(each.iterations, each.instructions) for each in trials] for trials in self.launches]
        return {"why": self.why, "launches": launches}

    @staticmethod
    def from_mapping(found: object) -> Counted:
        """Read what :meth:`to_mapping` wrote; treat anything else as not counted."""
        match found:
            case {"why": str(why), "launches": list(launches)}:
                with suppress(TypeError, ValueError):
                    trials = ((Trial(_count(n, 1), _count(ir)) for n, ir in each) for each in launches)
                    return Counted(tuple(map(tuple, trials)), why)
        return Counted(why="its record cannot be read")


Counts = dict[tuple[str, Side], dict[str, Counted]]
"""By suite and side, then by benchmark."""


def _count(value: object, at_least: int = 0) -> int:
    if type(value) is not int or not at_least <= value <= _MAX_COUNT:
        raise ValueError(value)
    return value
