"""Find the commit that made a benchmark slower, by comparisons that the caller makes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from service.domain.runs.vote import Outcome
from service.domain.trunk.bisection import Answer, Bisection, Measured, answer_of, halve
from service.domain.values.errors import BadInput
from service.domain.verdict.explanation.explanation import Explanation
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.domain.trunk.bisection import Suspect
    from service.domain.verdict.inference.verdict import ComparedRow, Comparison
    from service.steps.runs.gate import LocalVerdict

    Compare = Callable[["Question"], LocalVerdict]
    LineOf = Callable[[str, str], Sequence[Suspect]]
    Tell = Callable[[Measured], None]


@dataclass(frozen=True, slots=True)
class Question:
    """Ask how much slower a benchmark is at ``patch`` than at ``base``, and why if ``is_explained``."""

    base: str
    patch: str
    benchmark: str
    is_explained: bool = False


def bisect(
    benchmark: str, good: str, line: Sequence[Suspect], compare: Compare, line_of: LineOf, tell: Tell
) -> Bisection:
    """Find the commit of a line that made a benchmark slower, and explain why.

    Ctrl-C ends it early, with the commits that are left by then.

    Args:
        benchmark: its name, or a part of the name that no other one has.
        good: the commit before the line.
        line: commits by first parents, oldest first; not empty.
        compare: measures and judges one commit against another.
        line_of: returns the first-parent line after one commit up to another, oldest first.
        tell: is called after each comparison.

    Raises:
        BadInput: the name chooses no benchmark, or several.
    """
    search = _Search(benchmark, compare, tell)
    try:
        is_confirmed = search.run(good, line, line_of)
    except KeyboardInterrupt:
        return replace(search.found(), is_interrupted=True)
    return replace(search.found(), is_confirmed=is_confirmed)


@dataclass(slots=True)
class _Search:
    """The comparisons so far; ``row`` and ``whole`` are the metric and its slow-down over the whole line.

    If the first comparison is slower, one of the commits in ``left`` made it so.
    """

    benchmark: str
    compare: Compare
    tell: Tell
    row: ComparedRow | None = None
    whole: float = 0.0
    measured: list[Measured] = field(default_factory=list)
    left: Sequence[Suspect] = ()
    merges: list[Suspect] = field(default_factory=list)
    is_side_open: bool = False  # a side of the last merge was not clearly as fast as the good commit
    explained: tuple[str, str] | None = None

    def run(self, good: str, line: Sequence[Suspect], line_of: LineOf) -> bool:
        """Search a line; return whether a direct comparison confirms what is left of it."""
        self.left = line
        if self.ask(good, line[-1].revision, is_explained=len(line) == 1) is not Answer.SLOWER:
            return False
        self.narrow(good, line)
        while len(self.left) == 1 and (side := self.slow_side(good, self.left[0], line_of)):
            self.merges.append(self.left[0])
            self.narrow(good, side)
        parents = self.left[0].parents
        if not parents:
            return False
        return self.ask(parents[0], self.left[-1].revision, is_explained=True) is Answer.SLOWER

    def found(self) -> Bisection:
        """Return what is known so far."""
        is_slower = bool(self.measured) and self.measured[0].answer is Answer.SLOWER
        left = tuple(self.left) if is_slower else ()
        may_hide = len(left) == 1 and self.is_side_open
        return Bisection(tuple(self.measured), left, tuple(self.merges), may_hide=may_hide)

    def ask(self, base: str, patch: str, *, is_explained: bool = False) -> Answer:
        """Compare two commits, unless they were compared before, and explained if that is asked for."""
        known = [each.answer for each in self.measured if (each.base, each.patch) == (base, patch)]
        if known and (not is_explained or self.explained == (base, patch)):
            return known[-1]
        name = self.row.benchmark if self.row else self.benchmark
        verdict = self.compare(Question(base, patch, name, is_explained))
        if not (self.measured or verdict.is_chosen):
            raise BadInput(*verdict.end.causes[:1])
        found = self._comparison(verdict.comparisons)
        answer = answer_of(found, self.whole)
        if found is None and verdict.end.outcome is Outcome.INFRASTRUCTURE:
            answer = Answer.UNDECIDED
        seconds, why = sum(verdict.seconds.values()), tuple(map(Explanation.from_mapping, verdict.why))
        self.measured.append(Measured(base, patch, answer, found, verdict.end.causes, seconds, why))
        if is_explained:
            self.explained = base, patch
        self.tell(self.measured[-1])
        return answer

    def narrow(self, good: str, line: Sequence[Suspect]) -> None:
        """Leave of a line with a slower end the commits that may have made it slower."""
        answers = {len(line): Answer.SLOWER}
        bracket = halve(len(line), answers)
        self.left = line
        while bracket.then is not None:
            answers[bracket.then] = self.ask(good, line[bracket.then - 1].revision)
            bracket = halve(len(line), answers)
            self.left = line[bracket.begin : bracket.end]

    def slow_side(self, good: str, merge: Suspect, line_of: LineOf) -> Sequence[Suspect]:
        """Return the commits that a merge brought, if their tip is slower; else none."""
        self.is_side_open = False
        for tip in merge.parents[1:]:
            side = line_of(merge.parents[0], tip)
            answer = self.ask(good, tip) if side else Answer.NOT_SLOWER
            if answer is Answer.SLOWER:
                # What was slower before the sides parted is not of this merge.
                fork = side[0].parents[:1]
                answer = self.ask(good, fork[0]) if fork and fork[0] != good else Answer.NOT_SLOWER
                if answer is Answer.NOT_SLOWER:
                    return side
            self.is_side_open |= answer is not Answer.NOT_SLOWER
        return ()

    def _comparison(self, comparisons: Sequence[Comparison]) -> Comparison | None:
        """Return that of the metric; the first comparison chooses the metric that is slowest."""
        if self.row is None:
            slower = [each for each in comparisons if each.verdict is Verdict.SLOWER]
            worst = max(slower or comparisons, key=lambda each: each.worsening, default=None)
            if worst is not None:
                self.row, self.whole = worst.row, worst.worsening
        return next((each for each in comparisons if each.row == self.row), None)
