"""Values of commits that were measured before Benchgate came; they are drawn, and count for nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - the API's schema needs it
from typing import TYPE_CHECKING

from service.domain.measuring.launch import read_launch
from service.domain.measuring.metric import RATES, own_clock
from service.domain.project.benchmark import Suite
from service.domain.values.identity import Side

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.domain.measuring.formats.reader import GBenchRun
    from service.domain.verdict.trend.change_points import ChangePoint


@dataclass(frozen=True, slots=True)
class ImportedValue:
    """Value of a series at a commit, above 0, in the unit of the series."""

    commit: str
    moment: datetime = field(metadata={"description": "when the commit came to the branch, as imported"})
    value: float
    position: int = field(
        default=0, metadata={"description": "place in the imported list: orders commits of one moment"}
    )


def values_of(run: GBenchRun) -> Iterator[tuple[str, str, float]]:
    """Yield benchmark, metric and best repetition: the time that judges a benchmark, and its rates.

    Values that are not above 0 are left out.
    """
    launch = read_launch(0, Side.BASE, Suite(name="", program=""), run)
    for benchmark, values in launch.values.items():
        for metric in (own_clock(benchmark), *RATES):
            if (value := values.get(metric, 0.0)) > 0:
                yield benchmark, metric, value


def proposed_changes(
    values: Sequence[ImportedValue],
) -> list[tuple[ImportedValue, ImportedValue, ChangePoint]]:
    """Propose where the level changed: the values before and behind; ``values`` come oldest first."""
    from service.domain.verdict.trend.change_points import find_changes  # noqa: PLC0415 - loads NumPy

    found = find_changes([math.log(each.value) for each in values])
    return [(values[each.at - 1], values[each.at], each) for each in found]
