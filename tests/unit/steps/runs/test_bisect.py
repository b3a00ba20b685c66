"""Find the slower commit of histories with merges, builds that fail, drift and noise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from service.domain.runs.machine_report import BuildEnd
from service.domain.runs.vote import Outcome
from service.domain.trunk.bisection import Answer, Suspect
from service.domain.verdict.explanation.causes import Cause, Kind
from service.domain.verdict.explanation.explanation import Explanation
from service.domain.verdict.inference.verdict import Comparison, Verdict
from service.domain.wording.bisection import conclusion
from service.steps.runs.bisect import Question, bisect
from service.steps.runs.gate import LocalVerdict
from tests.unit.domain.comparisons import row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.trunk.bisection import Bisection, Measured

FLOOR = 0.01
GROWN = "new locks (0 → 2 per iteration), in work"


@dataclass
class History:
    """Commits with the time that the benchmark takes at each; ``noise`` is that of a comparison's ratio."""

    times: dict[str, float] = field(default_factory=lambda: {"good": 100.0})
    broken: set[str] = field(default_factory=set)
    sides: dict[str, list[Suspect]] = field(default_factory=dict)
    noise: float = 0.0
    random: Random = field(default_factory=lambda: Random(1))  # noqa: S311 - repeatable
    interrupted: int | None = None  # comparisons before Ctrl-C
    asked: list[tuple[str, str]] = field(default_factory=list)
    explained: list[tuple[str, str]] = field(default_factory=list)
    benchmarks: list[str] = field(default_factory=list)

    def commit(self, name: str, time: float, *parents: str) -> Suspect:
        """Add a commit on top of others."""
        self.times[name] = time
        return Suspect(name, parents, "2026-01-02", "Ada", f"Subject {name}")

    def line(self, times: Sequence[float], since: str = "good", prefix: str = "c") -> list[Suspect]:
        """Add commits that take these times, one on top of the other."""
        names = [since, *(f"{prefix}{at}" for at in range(1, len(times) + 1))]
        return [self.commit(names[at + 1], time, names[at]) for at, time in enumerate(times)]

    def compare(self, question: Question) -> LocalVerdict:
        """Answer as a machine: undecided if an interval of two standard errors contains the floor."""
        if len(self.asked) == self.interrupted:
            raise KeyboardInterrupt
        base, patch = question.base, question.patch
        self.asked.append((base, patch))
        self.benchmarks.append(question.benchmark)
        why: tuple[Explanation, ...] = ()
        if question.is_explained:
            self.explained.append((base, patch))
            why = (Explanation("s", "BM", causes=(Cause(Kind.LOCKS, "work", 0.0, 2.0),)),)
        if {base, patch} & self.broken:
            return LocalVerdict("job", (), BuildEnd(Outcome.FAILED, ("it does not compile",)), {"build": 1.0})
        ratio = self.times[patch] / self.times[base] * (1 + self.random.gauss(0, self.noise))
        low, high = ratio - 4 * self.noise, ratio + 4 * self.noise
        verdict = Verdict.UNDECIDED
        if low > 1 + FLOOR:
            verdict = Verdict.SLOWER
        elif high < 1 + FLOOR:
            verdict = Verdict.SAME
        found = Comparison(row("BM"), verdict, 8, ratio, (low, high))
        end, seconds = BuildEnd(Outcome.PASSED), {"measure": 2.0}
        return LocalVerdict("job", (found,), end, seconds, why=tuple(each.to_mapping() for each in why))

    def bisect(self, line: Sequence[Suspect]) -> Bisection:
        """Search a line."""
        told: list[Measured] = []
        found = bisect("BM", "good", line, self.compare, lambda _, tip: self.sides.get(tip, []), told.append)
        assert tuple(told) == found.measured
        assert len(self.asked) == len(found.measured)
        return found


def names(found: Bisection) -> list[str]:
    return [each.revision for each in found.suspects]


@pytest.mark.parametrize("seed", range(30))
def test_with_noise_and_drift_the_culprit_is_found_and_confirmed(seed: int) -> None:
    """A drift of 2 % over the line stays below half of the step of 20 %."""
    random = Random(seed)  # noqa: S311 - repeatable
    history = History(noise=0.01, random=random)
    culprit = random.randint(1, 64)
    line = history.line([100 + at / 32 + (20 if at >= culprit else 0) for at in range(1, 65)])
    at_risk = [at for at in range(1, 64) if abs(at - culprit) > 1]
    history.broken = {f"c{at}" for at in random.sample(at_risk, 5)}

    found = history.bisect(line)

    assert names(found) == [f"c{culprit}"]
    assert found.is_found
    assert history.asked[-1] == (line[culprit - 1].parents[0], f"c{culprit}")
    assert len(found.measured) <= 2 + 6 + 5


def test_a_line_that_is_not_slower_ends_after_one_comparison() -> None:
    history = History()
    found = history.bisect(history.line([100.0] * 9))
    assert history.asked == [("good", "c9")]
    assert not found.suspects
    assert found.measured[0].answer is Answer.NOT_SLOWER


def test_a_culprit_among_commits_that_do_not_build_is_a_confirmed_range() -> None:
    history = History(broken={"c4", "c5"})
    found = history.bisect(history.line([100.0] * 4 + [120.0] * 4))
    assert names(found) == ["c4", "c5", "c6"]
    assert found.is_confirmed
    assert not found.is_found
    assert history.asked[-1] == ("c3", "c6")


def merged(tip_time: float) -> tuple[History, list[Suspect]]:
    """Make a history with a merge that is slow; its side of three commits ends with this time."""
    history = History()
    line = history.line([100.0, 100.0])
    history.sides["s3"] = history.line([100.0, tip_time, tip_time], "c1", "s")
    return history, [*line, history.commit("merge", 120.0, "c2", "s3"), history.commit("c4", 120.0, "merge")]


def test_the_search_goes_into_the_merged_side() -> None:
    history, line = merged(tip_time=120.0)
    found = history.bisect(line)
    assert names(found) == ["s2"]
    assert [each.revision for each in found.merges] == ["merge"]
    assert found.is_found


def test_a_merge_of_fast_parents_is_the_culprit() -> None:
    history, line = merged(tip_time=100.0)
    found = history.bisect(line)
    assert names(found) == ["merge"]
    assert not found.merges
    assert found.is_found
    assert "it is a merge, and none of its parents is slower" in list(conclusion(found))


def test_a_merge_with_a_side_that_does_not_build_may_hide_the_culprit() -> None:
    history, line = merged(tip_time=120.0)
    history.broken = {"s3"}
    found = history.bisect(line)
    said = list(conclusion(found))
    assert not found.is_found
    assert said[0] == "suspect: merge Subject merge, by Ada on 2026-01-02"
    assert "may hide the culprit" in said[1]


def test_a_side_that_was_slower_before_it_parted_is_not_searched() -> None:
    history = History(times={"good": 100.0, "old": 120.0})
    line = history.line([100.0])
    history.sides["s2"] = history.line([120.0, 120.0], "old", "s")
    found = history.bisect([*line, history.commit("merge", 120.0, "c1", "s2")])
    assert names(found) == ["merge"]
    assert not found.merges
    assert not found.is_found


def test_a_slow_down_that_its_parent_has_too_is_not_confirmed() -> None:
    """The first comparisons with c2 erred: it is as slow as c3."""
    history = History()
    line = history.line([100.0, 100.0, 120.0])
    right = history.compare

    def compare(question: Question) -> LocalVerdict:
        history.times["c2"] = 120.0 if question.base == "c2" else 100.0
        return right(question)

    found = bisect("BM", "good", line, compare, lambda _, __: (), lambda _: None)
    assert names(found) == ["c3"]
    assert not found.is_confirmed
    said = list(conclusion(found))
    assert said[0].startswith("suspect: c3 ")
    assert not any(GROWN in each for each in said)


def test_a_range_is_explained_by_its_last_comparison() -> None:
    history = History(broken={"c4"})
    found = history.bisect(history.line([100.0] * 4 + [120.0] * 4))
    assert history.explained == [("c3", "c5")]
    assert f"BM: {GROWN}" in list(conclusion(found))


@pytest.mark.parametrize(("commits", "comparisons"), [(1, 1), (2, 3)])
def test_a_first_commit_is_compared_again_unless_it_is_explained_already(
    commits: int, comparisons: int
) -> None:
    history = History()
    found = history.bisect(history.line([120.0] * commits))
    assert history.asked == [("good", f"c{commits}"), ("good", "c1"), ("good", "c1")][:comparisons]
    assert history.explained == [("good", "c1")]
    assert found.is_found


@pytest.mark.parametrize(
    ("interrupted", "left"), [(0, []), (1, ["c1", "c8"]), (2, ["c5", "c8"]), (4, ["c6"])]
)
def test_ctrl_c_leaves_the_commits_that_may_be_slower(interrupted: int, left: list[str]) -> None:
    history = History(interrupted=interrupted)
    found = history.bisect(history.line([100.0] * 5 + [120.0] * 3))
    assert [names(found)[0], names(found)[-1]][: len(left)] == left if left else not found.suspects
    assert found.is_interrupted
    assert not found.is_found
    assert len(found.measured) == interrupted


def test_the_later_comparisons_measure_the_whole_name_only() -> None:
    history = History()
    line = history.line([100.0, 120.0, 120.0])
    bisect("B", "good", line, history.compare, lambda _, __: (), lambda _: None)
    assert history.benchmarks == ["B", "BM", "BM", "BM"]


def test_uncommitted_changes_are_no_commit_of_an_author() -> None:
    history = History()
    line = history.line([100.0, 120.0])
    found = history.bisect([line[0], replace(line[1], is_uncommitted=True)])
    assert list(conclusion(found))[:2] == [
        "culprit: your uncommitted changes",
        "confirmed: with them, it is slower than HEAD",
    ]
