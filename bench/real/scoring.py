"""Score verdicts: planted slow-downs that were found, and verdicts on what did not change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from service.domain.measuring.metric import metric_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bench.real.projects import Change

STEADY: Final = 0.05  # the spread of pairs up to which the goals hold
_SLOWER: Final = "slower"
# No change breaks, removes or adds a benchmark, and none makes one faster.
_ALWAYS_FALSE: Final = frozenset({"faster", "broken", "removed", "new"})
# `same` about a planted slow-down is false too: each is larger than what the default policy calls the same.
_FALSE_IF_AFFECTED: Final = _ALWAYS_FALSE | {"same"}
_FALSE_IF_NOT: Final = _ALWAYS_FALSE | {_SLOWER}
_OPEN: Final = frozenset({"undecided", "failing"})


@dataclass(frozen=True, slots=True)
class Row:
    """The verdict on a benchmark; ``slowing`` is how much longer it takes (0.05: 5 %), if known.

    A benchmark that is compared by several times or rates has the verdict that counts against Benchgate, then
    the one that finds a slow-down; ``spread`` is the least of them.
    """

    name: str
    verdict: str
    slowing: float | None
    pairs: int
    spread: float | None

    @property
    def is_steady(self) -> bool:
        """Return whether its pairs are known to spread by no more than the goals assume."""
        return self.spread is not None and self.spread <= STEADY

    @property
    def is_open(self) -> bool:
        """Return whether it has no verdict."""
        return self.verdict in _OPEN

    @property
    def is_equal(self) -> bool:
        """Return whether it was not measured, because both sides have the same program."""
        return self.verdict == "same" and not self.pairs


@dataclass(frozen=True, slots=True)
class Score:
    """The verdicts on one change, or on several.

    Args:
        affected: verdicts on the benchmarks that were made slower.
        others: those on benchmarks that did not change.
        false: verdicts that are wrong.
        right: verdicts that measurements led to and that are not wrong.
        partly: those on benchmarks that were made slower by an unknown amount, which only count if they are
            false.
    """

    affected: tuple[Row, ...] = ()
    others: tuple[Row, ...] = ()
    false: tuple[Row, ...] = ()
    right: tuple[Row, ...] = ()
    partly: tuple[Row, ...] = ()

    def __add__(self, other: Score) -> Score:
        """Join the verdicts."""
        return Score(
            self.affected + other.affected,
            self.others + other.others,
            self.false + other.false,
            self.right + other.right,
            self.partly + other.partly,
        )

    @property
    def found(self) -> tuple[int, int]:
        """The number of affected benchmarks that were found, and of all of them."""
        return _found(self.affected)

    @property
    def found_steady(self) -> tuple[int, int]:
        """The same of the steady ones."""
        return _found(row for row in self.affected if row.is_steady)

    @property
    def slowing(self) -> float | None:
        """The median slow-down that was measured of the affected benchmarks."""
        known = [row.slowing for row in self.affected if row.slowing is not None]
        return median(known) if known else None

    @property
    def pairs(self) -> tuple[int, int] | None:
        """The smallest and the largest number of pairs; None: nothing was measured."""
        pairs = [row.pairs for row in (*self.affected, *self.others) if row.pairs]
        return (min(pairs), max(pairs)) if pairs else None


def score(change: Change, answer: Mapping[str, Any]) -> Score:
    """Score the JSON of a gate against what the change does to each benchmark."""
    affected, partly, others = [], [], []
    for name, rows in _benchmarks(change, answer["benchmarks"]):
        if change.affects(name):
            affected.append(_joined(rows, _FALSE_IF_AFFECTED))
        elif change.may_affect(name):
            partly.append(_joined(rows, _ALWAYS_FALSE))
        else:
            others.append(_joined(rows, _FALSE_IF_NOT))
    kinds = ((affected, _FALSE_IF_AFFECTED), (partly, _ALWAYS_FALSE), (others, _FALSE_IF_NOT))
    return Score(
        tuple(affected),
        tuple(others),
        tuple(row for rows, false in kinds for row in rows if row.verdict in false),
        tuple(
            row
            for rows, false in (kinds[0], kinds[2])
            for row in rows
            if not (row.verdict in false or row.is_open or row.is_equal)
        ),
        tuple(partly),
    )


def _benchmarks(change: Change, found: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Sequence[Row]]]:
    """Yield the rows of each benchmark. Two suites may have benchmarks of the same name.

    What the change makes slower is known for times and rates only: other metrics, such as bytes, are left
    out.
    """
    rows: dict[tuple[str, str], list[Row]] = {}
    for each in found:
        is_slowed = change.affects(each["name"]) or change.may_affect(each["name"])
        if not is_slowed or metric_named(each["metric"]).is_speed:
            rows.setdefault((each.get("suite", ""), each["name"]), []).append(_row(each))
    for (_, name), of_benchmark in rows.items():
        yield name, of_benchmark


def _joined(rows: Sequence[Row], false: frozenset[str]) -> Row:
    """Join the rows of a benchmark into one."""
    counts = max(rows, key=lambda row: (row.verdict in false, row.verdict == _SLOWER, row.verdict != "same"))
    return replace(counts, spread=min((row.spread for row in rows if row.spread is not None), default=None))


def _row(found: Mapping[str, Any]) -> Row:
    ratio = found["ratio"]
    if ratio and found["better"] == "higher":
        ratio = 1 / ratio
    return Row(
        found["name"],
        found["verdict"],
        ratio - 1 if ratio else None,
        found["pairs"],
        found["spread"],
    )


def _found(rows: Iterable[Row]) -> tuple[int, int]:
    verdicts = [row.verdict for row in rows]
    return verdicts.count(_SLOWER), len(verdicts)
