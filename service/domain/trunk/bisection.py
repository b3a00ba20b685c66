"""Bisect a first-parent line of commits for the one that made a benchmark slower.

A person waits, so each comparison is decided before the next one is chosen; `narrowing` instead estimates
from links with a fixed number of pairs, which nobody waits for. Every candidate is compared with the good
commit, so small slow-downs add no error. A comparison calls equal programs slower at most at the policy's
false-alarm rate, and a 95 % interval tells half of the slow-down from the whole. About log2(n) comparisons
choose the commit; a direct one with its parent confirms it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from service.domain.verdict.inference.verdict import Comparison, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.verdict.explanation.explanation import Explanation

_PART: Final = 0.5  # of the whole slow-down; a candidate with surely less has another, smaller one


class Answer(StrEnum):
    """Answer to whether a candidate has the slow-down."""

    SLOWER = "slower"
    NOT_SLOWER = "not slower"
    NOT_BUILT = "cannot be built"  # or not measured
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Suspect:
    """A commit of the line: parents by their IDs, the date in ISO 8601; author and subject are untrusted.

    ``is_uncommitted``: Benchgate made it of the changes that nobody has committed.
    """

    revision: str
    parents: tuple[str, ...]
    authored_on: str
    author: str
    subject: str
    is_uncommitted: bool = False

    @property
    def is_merge(self) -> bool:
        """Return whether it has several parents."""
        return len(self.parents) > 1


@dataclass(frozen=True, slots=True)
class Measured:
    """A comparison of two commits; ``causes`` explain an answer without pairs, ``seconds`` of the machine.

    ``why`` explains the benchmark if that was asked for.
    """

    base: str
    patch: str
    answer: Answer
    comparison: Comparison | None
    causes: tuple[str, ...]
    seconds: float
    why: tuple[Explanation, ...] = ()


@dataclass(frozen=True, slots=True)
class Bisection:
    """The result of a bisection.

    Args:
        measured: all comparisons, the first over the whole line, the last a direct one of what was found.
        suspects: the commits that are left, oldest first; empty if the slow-down was not reproduced.
        merges: the merges that the search went into, outermost first.
        is_confirmed: the suspects are slower than the commit before them, measured directly.
        may_hide: a merged side of the suspect could not be compared, so it may have the culprit.
        is_interrupted: a person ended it early.
    """

    measured: tuple[Measured, ...]
    suspects: tuple[Suspect, ...] = ()
    merges: tuple[Suspect, ...] = ()
    is_confirmed: bool = False
    may_hide: bool = False
    is_interrupted: bool = False

    @property
    def is_found(self) -> bool:
        """Return whether one commit is the culprit, and confirmed."""
        return self.is_confirmed and len(self.suspects) == 1 and not self.may_hide

    @property
    def benchmark(self) -> str:
        """The whole name of the benchmark; empty if nothing was compared."""
        return next((each.comparison.row.benchmark for each in self.measured if each.comparison), "")

    @property
    def commits(self) -> int:
        """The number of different commits that were compared; each was built at most once."""
        return len({commit for each in self.measured for commit in (each.base, each.patch)})

    @property
    def seconds(self) -> float:
        """The machine time of all comparisons."""
        return sum(each.seconds for each in self.measured)


@dataclass(frozen=True, slots=True)
class Bracket:
    """The slow-down is in one of the commits after ``begin`` up to ``end``; ``then`` is compared next.

    ``then`` is None if no commit between them is left to compare.
    """

    begin: int
    end: int
    then: int | None


def halve(commits: int, answers: Mapping[int, Answer]) -> Bracket:
    """Choose the commit to compare with commit 0, of the commits 1 to ``commits``; the last one is slower.

    A commit without a clear answer narrows nothing: the nearest one to the middle without an answer is next.
    """
    end = min((at for at, answer in answers.items() if answer is Answer.SLOWER), default=commits)
    fast = (at for at, answer in answers.items() if answer is Answer.NOT_SLOWER and at < end)
    begin = max(fast, default=0)
    left = [at for at in range(begin + 1, end) if at not in answers]
    return Bracket(begin, end, min(left, key=lambda at: (abs(2 * at - begin - end), at), default=None))


def answer_of(found: Comparison | None, whole: float) -> Answer:
    """Say whether a candidate has the slow-down ``whole``, a share of the good commit's value."""
    if found is None:
        return Answer.NOT_BUILT
    if found.could_worsen_by < _PART * whole:
        return Answer.NOT_SLOWER
    match found.verdict:
        case Verdict.SLOWER:
            # An estimate of less than half may be another, smaller slow-down.
            return Answer.SLOWER if found.worsening >= _PART * whole else Answer.UNDECIDED
        case Verdict.SAME | Verdict.FASTER:
            return Answer.NOT_SLOWER
        case Verdict.UNDECIDED:
            return Answer.UNDECIDED
        case _:
            return Answer.NOT_BUILT
