"""Lay out a build's comparisons: choose and order the rows, and draw their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from dashboards.verdict.interval_bar import WIDTH, Bar, Mark
from service.domain.measuring.metric import metric_named
from service.domain.values.search import parse_words
from service.domain.verdict.comparison.combined import goodness
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.judgement import verdict_word

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from service.domain.values.search import Words
    from service.domain.verdict.inference.estimate import MeasuredRatio
    from service.ports.runs.shown import Build
    from service.ports.verdict import Comparison


class RowFilter(StrEnum):
    """A choice of rows, beside all rows of one verdict. Significant: any verdict except same."""

    SIGNIFICANT = "significant"
    ALL = "all"


_WORST_ROWS: Final = 3  # what a phone shows before everything else
MOST_ROWS: Final = 1000  # a page of more is neither read nor drawn
# The worst verdict first. Never colour alone: each verdict has a sign and a word of its own.
_SIGNS: Final[Mapping[Verdict, str]] = MappingProxyType(
    {
        Verdict.BROKEN: "✕",
        Verdict.REMOVED: "−",
        Verdict.SLOWER: "▼",
        Verdict.FAILING: "!",
        Verdict.UNDECIDED: "?",
        Verdict.FASTER: "▲",
        Verdict.NEW: "+",
        Verdict.SAME: "=",
    }
)
_MARKS: Final[Mapping[Verdict, Mark]] = MappingProxyType(
    {
        Verdict.BROKEN: Mark.DOT,
        Verdict.REMOVED: Mark.DOT,
        Verdict.SLOWER: Mark.DOWN,
        Verdict.FAILING: Mark.DOT,
        Verdict.UNDECIDED: Mark.DOT,
        Verdict.FASTER: Mark.UP,
        Verdict.NEW: Mark.DOT,
        Verdict.SAME: Mark.SQUARE,
    }
)
_ORDER: Final = tuple(_SIGNS)
_JUDGED: Final = frozenset({Verdict.SLOWER, Verdict.FASTER})
_DECISIVE: Final = frozenset({Verdict.BROKEN, Verdict.SLOWER, Verdict.FASTER})
_BAD: Final = frozenset({Verdict.BROKEN, Verdict.REMOVED, Verdict.SLOWER, Verdict.FAILING, Verdict.UNDECIDED})
# Values of different units are no more or less than each other.
_COLUMNS: Final[Mapping[str, Callable[[Comparison], tuple[str, str | float | None]]]] = MappingProxyType(
    {
        "benchmark": lambda row: ("", row.benchmark),
        "change": lambda row: ("", goodness(row.better, row.ratio)),
        "base": lambda row: (row.unit, row.base),
        "patch": lambda row: (row.unit, row.patch),
        "pairs": lambda row: ("", row.pairs),
    }
)
_LONGEST_SEARCH: Final = 200
_NARROWEST: Final = 0.03  # on a scale that magnifies noise below it, noise would look like news
_WIDEST: Final = 1.0  # no time and no rate can fall by more


@dataclass(frozen=True, slots=True)
class ComparisonTable:
    """The rows of a build that are shown.

    Args:
        rows: the shown comparisons in the order of ``sort``.
        hidden: how many rows match the search but not the filter.
        counts: of each verdict, over all rows that match the search; none is 0.
        words: the word of each verdict in ``counts``.
        scale: the share at which the drawing ends on both sides; most rows that are slower or faster fit in.
        floor: the share below which a difference does not matter; drawn as a band.
        footnotes: explanations that shown rows have in common, each once.
        sort: the column that orders the rows, behind ``-`` if the largest comes first; empty: worst first.
    """

    rows: tuple[Comparison, ...]
    hidden: int
    counts: Mapping[Verdict, int]
    words: Mapping[Verdict, str]
    scale: float
    floor: float
    footnotes: tuple[str, ...] = ()
    sort: str = ""

    def marks(self, row: Comparison) -> str:
        """Return the numbers of a row's footnotes."""
        return " ".join(str(self.footnotes.index(note) + 1) for note in row.explained)

    def place(self, share: float) -> float:
        """Return where a share of change is drawn, from 0 to ``WIDTH``."""
        return round(WIDTH / 2 * (1 + max(-1.0, min(share / self.scale, 1.0))), 1)

    def bar(self, row: Comparison) -> Bar | None:
        """Return the drawing of a row, or None if it has no ratio."""
        if row.ratio is None:
            return None
        low = row.ratio if row.low is None else row.low
        high = row.ratio if row.high is None else row.high
        return Bar(
            left=self.place(low - 1),
            right=self.place(high - 1),
            centre=self.place(row.ratio - 1),
            is_cut_left=low - 1 < -self.scale,
            is_cut_right=high - 1 > self.scale,
            is_centre_cut=abs(row.ratio - 1) > self.scale,
            mark=_mark(row),
        )


def filter_named(text: str) -> RowFilter | Verdict:
    """Return the filter of that name, else the significant rows."""
    known: tuple[RowFilter | Verdict, ...] = (*RowFilter, *Verdict)
    return next((choice for choice in known if choice == text), RowFilter.SIGNIFICANT)


def lay_out(
    comparisons: Sequence[Comparison],
    show: RowFilter | Verdict,
    words: Words,
    floor: float,
    sort: str = "",
    most: int | None = MOST_ROWS,
) -> ComparisonTable:
    """Choose and order the rows of a build.

    ``floor`` is the share below which a difference does not matter. Without a column of the name ``sort``,
    the worst row comes first. Rows without a value come last, and equal ones worst first. There are ``most``
    rows at most; None: all of them.
    """
    matching = [row for row in comparisons if words.matches(f"{row.benchmark} {row.metric} {row.suite}")]
    counts = {verdict: sum(row.verdict is verdict for row in matching) for verdict in _ORDER}
    sort = sort if sort.removeprefix("-") in _COLUMNS else ""
    rows = _sorted([row for row in matching if _is_shown(row, show)], sort)[:most]
    return ComparisonTable(
        rows=tuple(rows),
        hidden=len(matching) - len(rows),
        counts={verdict: count for verdict, count in counts.items() if count},
        words={
            verdict: word_of(verdict, *(row.metric for row in matching if row.verdict is verdict))
            for verdict in _ORDER
        },
        scale=_scale(rows),
        floor=floor,
        footnotes=tuple(dict.fromkeys(note for row in rows for note in row.explained)),
        sort=sort,
    )


def worst_of(
    builds: Sequence[tuple[Build, str, Sequence[Comparison]]],
) -> tuple[Sequence[tuple[Build, Comparison]], int]:
    """Choose the worst rows that count of builds with their waivers and rows; count the others.

    These are worse, or not known.
    """
    bad = [
        (build, row)
        for build, waived_by, rows in builds
        for row in rows
        if row.verdict in _BAD and not waived_by and not row.not_counted
    ]
    return sorted(bad, key=lambda of: urgency(of[1]))[:_WORST_ROWS], max(0, len(bad) - _WORST_ROWS)


def search_for(name: str) -> str:
    """Return a search that finds a benchmark; empty if its name has words that would be excluded."""
    found = name[:_LONGEST_SEARCH]
    return found if parse_words(found).matches(name) else ""


def sign_of(verdict: Verdict, row: MeasuredRatio | None = None, metric: str = "") -> str:
    """Return the sign of a verdict; for what is not speed, it points to where the value moved."""
    if row is None or row.ratio is None or verdict not in _JUDGED or metric_named(metric).is_speed:
        return _SIGNS[verdict]
    return _SIGNS[Verdict.FASTER if row.ratio > 1 else Verdict.SLOWER]


@lru_cache(maxsize=1024)  # a figure asks once for each of its points
def word_of(verdict: Verdict, *metrics: str) -> str:
    """Return the word for a verdict on these metrics: bytes and counts get worse, not slower."""
    are_speed = {metric_named(metric).is_speed for metric in metrics} or {True}
    words = (verdict_word(verdict, is_speed=is_speed) for is_speed in sorted(are_speed, reverse=True))
    return " or ".join(dict.fromkeys(words))


def urgency(row: Comparison) -> tuple[int, float]:
    """Return a key that sorts comparisons worst first; equal ones keep the project file's order."""
    return _ORDER.index(row.verdict), -abs(row.ratio - 1) if row.ratio is not None else 0.0


def _sorted(rows: Sequence[Comparison], sort: str) -> list[Comparison]:
    worst_first = sorted(rows, key=urgency)
    if not sort:
        return worst_first
    value_of = _COLUMNS[sort.removeprefix("-")]
    without = [row for row in worst_first if _is_empty(value_of(row)[1])]
    rest = [row for row in worst_first if not _is_empty(value_of(row)[1])]
    return sorted(rest, key=value_of, reverse=sort.startswith("-")) + without


def _is_empty(value: str | float | None) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _mark(row: Comparison) -> Mark:
    if row.verdict not in _JUDGED or row.ratio is None:
        return _MARKS[row.verdict]
    return Mark.UP if sign_of(row.verdict, row, row.metric) == _SIGNS[Verdict.FASTER] else Mark.DOWN


def _is_shown(row: Comparison, show: RowFilter | Verdict) -> bool:
    if isinstance(show, Verdict):
        return row.verdict is show
    return show is RowFilter.ALL or row.verdict is not Verdict.SAME


def _scale(rows: Sequence[Comparison]) -> float:
    # Many narrow rows that are the same must not push those that matter off the scale.
    decisive = [row for row in rows if row.verdict in _DECISIVE]
    # Three quarters of all ends fit: one huge effect must not squeeze all others into a line.
    ends = sorted(abs(end - 1) for row in decisive or rows for end in (row.low, row.high) if end is not None)
    wanted = ends[(len(ends) - 1) * 3 // 4] * 1.25 if ends else 0.0
    return min(max(_NARROWEST, wanted), _WIDEST)
