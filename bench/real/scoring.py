"""The score of verdicts: planted slow-downs that were found, and verdicts on what did not change."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bench.real.projects import Change

STEADY: Final = 0.05  # the spread of pairs up to which the goals hold
_SLOWER: Final = "slower"
# `same` about a planted slow-down is false too: each is larger than what the default policy calls the same.
_FALSE_IF_AFFECTED: Final = frozenset({"same", "faster"})
_FALSE_IF_NOT: Final = frozenset({"slower", "faster", "broken", "removed"})


@dataclass(frozen=True, slots=True)
class Row:
    """The verdict on a benchmark; ``slowing`` is how much longer it takes (0.05: 5 %), if that is known."""

    name: str
    verdict: str
    slowing: float | None
    pairs: int
    spread: float | None

    @property
    def is_steady(self) -> bool:
        """Return whether its pairs are known to spread by no more than the goals assume."""
        return self.spread is not None and self.spread <= STEADY


@dataclass(frozen=True, slots=True)
class Score:
    """The verdicts on one change, or on several.

    Args:
        affected: verdicts on the benchmarks that were made slower.
        others: those on benchmarks that did not change.
        false: verdicts that are wrong.
    """

    affected: tuple[Row, ...] = ()
    others: tuple[Row, ...] = ()
    false: tuple[Row, ...] = ()

    def __add__(self, other: Score) -> Score:
        """Join the verdicts."""
        return Score(self.affected + other.affected, self.others + other.others, self.false + other.false)

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
    """Score the JSON of a gate: what it says of each benchmark beside what the change does to it."""
    rows = [_row(found) for found in answer["benchmarks"]]
    affected = tuple(row for row in rows if change.affects(row.name))
    others = tuple(row for row in rows if not (change.affects(row.name) or change.may_affect(row.name)))
    return Score(
        affected,
        others,
        (
            *(row for row in affected if row.verdict in _FALSE_IF_AFFECTED),
            *(row for row in others if row.verdict in _FALSE_IF_NOT),
        ),
    )


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
