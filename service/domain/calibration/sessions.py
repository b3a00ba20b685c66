"""A/A sessions in a build's launches: the rows whose two sides were the same program."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from service.domain.calibration.evidence import Session
from service.domain.identity import Side
from service.domain.inference.estimate import MIN_PAIRS
from service.domain.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from service.domain.comparison.launch import Launch
    from service.domain.inference.verdict import ComparedRow, Comparison

    Values = Mapping[int, Mapping[str, Mapping[str, float]]]  # by pair, benchmark and metric

_GIVEN: Final = frozenset({Verdict.SLOWER, Verdict.FASTER, Verdict.SAME, Verdict.UNDECIDED})


def sessions_of(
    rows: Iterable[Comparison], launches: Iterable[Launch], suites: Collection[str]
) -> dict[ComparedRow, Session]:
    """Find the session of each row of these suites; rows too short for a verdict are none.

    ``rows`` compare the same launches, without knowing that the programs are the same.
    """
    values: defaultdict[tuple[str, Side], dict[int, Mapping[str, Mapping[str, float]]]] = defaultdict(dict)
    for launch in launches:
        values[launch.suite, launch.side][launch.pair] = launch.values
    found: dict[ComparedRow, Session] = {}
    for row in rows:
        suite = row.row.suite
        if suite in suites and row.verdict in _GIVEN:
            logs = tuple(_log_ratios(row.row, values[suite, Side.BASE], values[suite, Side.PATCH]))
            if len(logs) >= MIN_PAIRS:
                found[row.row] = Session(logs, row.verdict)
    return found


def _log_ratios(row: ComparedRow, base: Values, patch: Values) -> Iterator[float]:
    """The log ratios of the pairs with values above zero on both sides, or equal ones."""
    for pair in sorted(base.keys() & patch.keys()):
        one, other = (side[pair].get(row.benchmark, {}).get(row.metric.name) for side in (base, patch))
        if one is not None and one == other:
            yield 0.0  # also of counters that are zero
        elif one and other and one > 0 and other > 0:
            yield math.log(other) - math.log(one)
