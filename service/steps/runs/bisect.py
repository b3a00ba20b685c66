"""Find the commit that made a benchmark slower, by comparisons that the caller makes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service.domain.runs.vote import Outcome
from service.domain.trunk.bisection import Answer, Bisection, Measured, answer_of, halve
from service.domain.values.errors import BadInput
from service.domain.values.text import listed
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.bisection import not_one_benchmark

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.domain.trunk.bisection import Suspect
    from service.domain.verdict.inference.verdict import ComparedRow, Comparison
    from service.steps.runs.gate import LocalVerdict

    Compare = Callable[[str, str], LocalVerdict]
    LineOf = Callable[[str, str], Sequence[Suspect]]
    Tell = Callable[[Measured], None]


def bisect(
    benchmark: str, good: str, line: Sequence[Suspect], compare: Compare, line_of: LineOf, tell: Tell
) -> Bisection:
    """Find the commit of a line that made a benchmark slower.

    Args:
        benchmark: its name, or a part of the name that no other one has.
        good: the commit before the line.
        line: commits by first parents, oldest first; not empty.
        compare: measures and judges the second commit against the first.
        line_of: returns the first-parent line after one commit up to another, oldest first.
        tell: is called after each comparison.

    Raises:
        BadInput: the name chooses no benchmark, or several.
    """
    search = _Search(benchmark, compare, tell)
    if search.ask(good, line[-1].revision) is not Answer.SLOWER:
        return Bisection(tuple(search.measured))
    merges: list[Suspect] = []
    suspects = search.narrow(good, line)
    while len(suspects) == 1 and (side := search.slow_side(good, suspects[0], line_of)):
        merges.append(suspects[0])
        suspects = search.narrow(good, side)
    answer = search.ask(suspects[0].parents[0], suspects[-1].revision) if suspects[0].parents else None
    is_confirmed, may_hide = answer is Answer.SLOWER, len(suspects) == 1 and search.is_side_open
    return Bisection(tuple(search.measured), tuple(suspects), tuple(merges), is_confirmed, may_hide)


@dataclass(slots=True)
class _Search:
    """The comparisons so far; ``row`` and ``whole`` are the metric and its slow-down over the whole line."""

    benchmark: str
    compare: Compare
    tell: Tell
    row: ComparedRow | None = None
    whole: float = 0.0
    measured: list[Measured] = field(default_factory=list)
    is_side_open: bool = False  # a side of the last merge was not clearly as fast as the good commit

    def ask(self, base: str, patch: str) -> Answer:
        """Compare two commits, unless they were compared before."""
        if known := [each.answer for each in self.measured if (each.base, each.patch) == (base, patch)]:
            return known[0]
        verdict = self.compare(base, patch)
        if not (self.measured or verdict.is_chosen):
            raise BadInput(*verdict.end.causes[:1])
        found = self._comparison(verdict.comparisons)
        answer = answer_of(found, self.whole)
        if found is None and verdict.end.outcome is Outcome.INFRASTRUCTURE:
            answer = Answer.UNDECIDED
        seconds = sum(verdict.seconds.values())
        self.measured.append(Measured(base, patch, answer, found, verdict.end.causes, seconds))
        self.tell(self.measured[-1])
        return answer

    def narrow(self, good: str, line: Sequence[Suspect]) -> Sequence[Suspect]:
        """Return the commits that are left of a line with a slower end."""
        answers = {len(line): Answer.SLOWER}
        while (bracket := halve(len(line), answers)).then is not None:
            answers[bracket.then] = self.ask(good, line[bracket.then - 1].revision)
        return line[bracket.begin : bracket.end]

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
            chosen = self._of_benchmark(comparisons)
            slower = [each for each in chosen if each.verdict is Verdict.SLOWER]
            worst = max(slower or chosen, key=lambda each: each.worsening, default=None)
            if worst is not None:
                self.row, self.whole = worst.row, worst.worsening
        return next((each for each in comparisons if each.row == self.row), None)

    def _of_benchmark(self, comparisons: Sequence[Comparison]) -> Sequence[Comparison]:
        exact = [each for each in comparisons if each.row.benchmark == self.benchmark]
        names = {each.row.benchmark for each in exact or comparisons}
        if len(names) > 1:
            raise BadInput(not_one_benchmark(self.benchmark), listed(sorted(names)))
        return exact or comparisons
