"""Define the typed reasons that explain a verdict beyond its numbers.

The sentences are in :mod:`service.domain.wording.reasons`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

Fact = int | float | str


class ReasonKind(StrEnum):
    """Kinds of reasons; a comment lists the facts of each, in order. Values are stored."""

    # of pairs
    NO_PAIR = "no pair"
    TOO_FEW_PAIRS = "too few pairs"  # pairs, the least number
    NO_RATIO = "no ratio"
    WIDE_INTERVAL = "wide interval"  # the pairs' spread (log scale), half the interval as a ratio
    # pairs that would decide, their seconds, the machine time if it is less, the spread at which 32 pairs
    # would decide; 0 if unknown
    MORE_PAIRS = "more pairs"
    HARDLY_SLOWER = "hardly slower"
    OWN_TIME = "own time"  # seconds that the benchmark took, the most that the policy gives it
    NO_NUMBER_OF_PAIRS = "no number of pairs"  # the spread at which 32 pairs would decide (if known)
    # of what a benchmark reports
    NOT_IN_PATCH = "not in patch"  # metric
    NOT_IN_BASE = "not in base"  # metric
    SOMETIMES_IN_BASE = "sometimes in base"  # metric, launches with it, all launches
    UNUSABLE = "unusable"  # side, what is wrong
    FAILS = "fails"  # the program's own words
    FAILS_IN_BASE = "fails in base"  # the program's own words
    FAILS_SOMETIMES = "fails sometimes"  # side, failed launches, all launches, the program's own words
    ONLY_PATCH_FAILS = "only patch fails"  # pairs in which only the patch fails, all pairs, what is wrong
    ONLY_PATCH_ZERO = "only patch zero"  # pairs in which only the patch is zero or negative, all pairs
    ONLY_PATCH_SCATTERS = "only patch scatters"  # the scatter of its values, divided by the parent's
    FAILS_ON_BOTH = "fails on both"  # what is wrong
    # of clocks and work
    JUDGED_BY = "judged by"  # metric
    WORK_CHANGED = "work changed"  # the rate, patch divided by base
    REAL_TIME_LONGER = "real time longer"  # real seconds per CPU second; 1 if that is of the process
    REAL_TIME_MOVED = "real time moved"  # patch divided by base; 1 if CPU time is of the process
    # of relinked programs
    LAYOUT_NOT_CHECKED = "layout not checked"
    LAYOUT_CONFIRMED = "layout confirmed"  # the ratio of each relink
    LAYOUT_REFUTED = "layout refuted"  # how many are slower, then the ratio of each relink
    LAYOUT_BUILT_AGAIN = "layout built again"  # as LAYOUT_REFUTED
    LAYOUT_REFUTED_GAIN = "layout refuted gain"  # how many are faster, then the ratio of each relink
    LAYOUT_POSSIBLE = "layout possible"
    LAYOUT_AS_TEXT = "layout as text"  # the sentence of a version that stored no facts
    # of a second sequence
    SECOND_LIFTS = "second lifts"  # its verdict, pairs and (if known) ratio
    SECOND_STANDS = "second stands"  # the same
    # of equal programs
    SAME_PROGRAM = "same program"  # the ratio that was measured (if any)
    LISTED_ONCE = "listed once"
    # of recorded files
    ONE_LAUNCH = "one launch"
    ONE_COUNT = "one count"
    BLOCKS = "blocks"
    BASE_ONLY = "base only"
    # of instruction counts
    BLIND_COUNTS = "blind counts"
    NO_INSTRUCTIONS = "no instructions"
    NOT_COUNTED = "not counted"  # why (if known)
    NOT_DETERMINISTIC = "not deterministic"
    ONLY_PATCH_NOT_COUNTED = "only patch not counted"
    # of the parent against itself: the ratio, the ends of its interval, the pairs
    CONTROL = "control"
    OWN_DIFFERENCE = "own difference"
    OTHER_CONTROL = "other control"  # that of another benchmark is not clean
    OPEN_CONTROL = "open control"
    # of the vote
    SUSPENDED = "suspended"  # false alarms, sessions
    ON_PROBATION = "on probation"  # pairs, pairs asked for, sessions, sessions asked for
    NO_EVIDENCE = "no evidence"
    NOISY = "noisy"  # the pairs' spread (log scale)
    FAR_OFF = "far off"  # share of pairs that are too far off


RELINKED: Final = frozenset(
    {
        ReasonKind.LAYOUT_NOT_CHECKED,
        ReasonKind.LAYOUT_CONFIRMED,
        ReasonKind.LAYOUT_REFUTED,
        ReasonKind.LAYOUT_BUILT_AGAIN,
        ReasonKind.LAYOUT_REFUTED_GAIN,
        ReasonKind.LAYOUT_AS_TEXT,
    }
)
"""Reasons of benchmarks that relinked programs were measured for."""

NOT_BY_PAIRS: Final = RELINKED | {ReasonKind.SECOND_LIFTS}
"""Reasons of undecided benchmarks although pairs show a difference: more pairs do not help."""

# A control withholds the vote of this build: another history would not change it, or not soon.
OF_CONTROL: Final = frozenset({ReasonKind.OWN_DIFFERENCE, ReasonKind.OTHER_CONTROL, ReasonKind.OPEN_CONTROL})
WITHHOLDING: Final = OF_CONTROL | frozenset(
    {
        ReasonKind.SUSPENDED,
        ReasonKind.ON_PROBATION,
        ReasonKind.NO_EVIDENCE,
        ReasonKind.NOISY,
        ReasonKind.FAR_OFF,
    }
)
"""Reasons why a slower row may not vote −1."""


OF_PATCH: Final = frozenset(
    {
        ReasonKind.FAILS,
        ReasonKind.NOT_IN_PATCH,
        ReasonKind.ONLY_PATCH_FAILS,
        ReasonKind.ONLY_PATCH_ZERO,
        ReasonKind.ONLY_PATCH_SCATTERS,
        ReasonKind.ONLY_PATCH_NOT_COUNTED,
        ReasonKind.LISTED_ONCE,
        ReasonKind.LAYOUT_NOT_CHECKED,
        ReasonKind.LAYOUT_BUILT_AGAIN,
    }
)
"""Reasons of an undecided row that a patch can bring about: they prevent a +1, whatever the policy."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason with the facts that :class:`ReasonKind` lists for its kind."""

    kind: ReasonKind
    facts: tuple[Fact, ...] = ()


def has_kind(reasons: Iterable[Reason], kinds: Collection[ReasonKind]) -> bool:
    """Return whether any reason has one of these kinds."""
    return any(reason.kind in kinds for reason in reasons)
