"""Bisect random histories in which some commits do not build or stay undecided."""

from __future__ import annotations

from random import Random

import pytest

from service.domain.trunk.bisection import Answer, answer_of, halve
from service.domain.verdict.inference.verdict import Comparison, Verdict
from tests.unit.domain import comparisons

COMMITS = 64
LOST = 5


def search(culprit: int, lost: dict[int, Answer]) -> tuple[range, int]:
    """Bisect by an oracle without noise; return the commits that are left, and the number of questions."""
    answers = {COMMITS: Answer.SLOWER}
    while (found := halve(COMMITS, answers)).then is not None:
        at = found.then
        assert at not in answers
        answers[at] = lost.get(at, Answer.SLOWER if at >= culprit else Answer.NOT_SLOWER)
    return range(found.begin + 1, found.end + 1), len(answers) - 1


@pytest.mark.parametrize("kind", [Answer.NOT_BUILT, Answer.UNDECIDED])
@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_is_the_culprit_and_the_lost_commits_beside_it(seed: int, kind: Answer) -> None:
    random = Random(seed)  # noqa: S311 - repeatable
    culprit = random.randint(1, COMMITS)
    lost = dict.fromkeys(random.sample(range(1, COMMITS), LOST), kind)

    left, questions = search(culprit, lost)

    begin, end = culprit - 1, culprit
    while begin in lost:
        begin -= 1
    while end in lost:
        end += 1
    assert left == range(begin + 1, end + 1)
    assert questions <= 6 + LOST


def test_a_line_of_64_commits_that_all_build_takes_6_questions() -> None:
    assert {search(culprit, {}) for culprit in range(1, COMMITS + 1)} == {
        (range(culprit, culprit + 1), 6) for culprit in range(1, COMMITS + 1)
    }


def test_the_nearest_commit_to_one_that_does_not_build_is_next() -> None:
    assert halve(64, {64: Answer.SLOWER, 32: Answer.NOT_BUILT}).then == 31
    assert halve(64, {64: Answer.SLOWER, 32: Answer.NOT_BUILT, 31: Answer.NOT_BUILT}).then == 33


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        (comparisons.slower("BM", 1.2), Answer.SLOWER),
        (comparisons.slower("BM", 1.15), Answer.SLOWER),
        (comparisons.slower("BM", 1.05), Answer.NOT_SLOWER),  # at most 6 % of the 20 %
        (comparisons.slower("BM", 1.05)._replace(interval=(1.02, 1.12)), Answer.UNDECIDED),
        (comparisons.SAME, Answer.NOT_SLOWER),
        (comparisons.FASTER, Answer.NOT_SLOWER),
        (comparisons.UNDECIDED, Answer.NOT_SLOWER),  # at most 4 %
        (comparisons.UNDECIDED._replace(interval=(0.98, 1.15)), Answer.UNDECIDED),
        (comparisons.UNMEASURED, Answer.UNDECIDED),
        (comparisons.BROKEN, Answer.NOT_BUILT),
        (comparisons.REMOVED, Answer.NOT_BUILT),
        (None, Answer.NOT_BUILT),
    ],
)
def test_a_candidate_has_the_slow_down_if_it_surely_may_have_half_of_it(
    found: Comparison | None, answer: Answer
) -> None:
    assert answer_of(found, 0.2) is answer


def test_every_verdict_has_an_answer() -> None:
    rows = [comparisons.slower("BM", 1.2)._replace(verdict=each) for each in Verdict]
    assert {answer_of(row, 0.2) for row in rows} == set(Answer)
