"""The samples of one launch of a program: one process of one side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.identity import Side


@dataclass(frozen=True, slots=True)
class Launch:
    """One process of one side: a robust value per benchmark and metric, and the errors it reported.

    ``pair`` is its number among the pairs of its variant. ``real_per_cpu``: by benchmark, see
    :func:`service.domain.comparison.clock.real_per_cpu`. ``varying``: the benchmarks and metrics of which
    the repetitions differ. ``lost``: by benchmark why a measurement of it cannot be used. ``timed``: by
    benchmark the seconds of all its repetitions.
    """

    pair: int
    side: Side
    suite: str
    values: Mapping[str, Mapping[str, float]]
    errors: Mapping[str, str]
    warnings: tuple[str, ...] = ()  # of the reader, each naming file and row
    is_disturbed: bool = False  # other work took much of its CPUs
    is_kept_in_place: bool = False  # its program was not copied anew for the pair
    real_per_cpu: Mapping[str, float] = field(default_factory=dict)
    varying: frozenset[tuple[str, str]] = frozenset()
    lost: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0  # that it took
    timed: Mapping[str, float] = field(default_factory=dict)
    variant: int = 0  # of its program: 0 as the project links it, else a relink

    def ran(self, benchmark: str) -> bool:
        """Return whether a benchmark ran in this launch and reported a result or an error."""
        return benchmark in self.values or benchmark in self.errors or benchmark in self.lost
