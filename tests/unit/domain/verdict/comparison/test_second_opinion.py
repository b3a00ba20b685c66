from __future__ import annotations

import pytest

from service.domain.measuring.launch import SECOND
from service.domain.project.policy import Policy
from service.domain.verdict.comparison.link_layout import VARIANTS
from service.domain.verdict.comparison.second_opinion import second_opinion
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.verdict.inference.verdict import Comparison, Verdict
from tests.unit.domain.comparisons import FASTER, SAME, UNDECIDED, row, slower

POLICY = Policy()
FIRST = slower("BM_a", 1.025)


def second(verdict: Verdict, ratio: float, pairs: int = 24) -> Comparison:
    return Comparison(row("BM_a"), verdict, pairs, ratio, (ratio - 0.01, ratio + 0.01), 1.0, ratio)


@pytest.mark.parametrize(
    ("other", "verdict", "kind"),
    [
        (second(Verdict.SAME, 1.001), Verdict.UNDECIDED, ReasonKind.SECOND_LIFTS),
        (second(Verdict.FASTER, 0.97), Verdict.UNDECIDED, ReasonKind.SECOND_LIFTS),
        (second(Verdict.SAME, 1.019), Verdict.SLOWER, ReasonKind.SECOND_STANDS),
        (second(Verdict.SAME, 1.001, pairs=23), Verdict.UNDECIDED, ReasonKind.SECOND_LIFTS),
        (second(Verdict.UNDECIDED, 1.001), Verdict.SLOWER, ReasonKind.SECOND_STANDS),
        (second(Verdict.SLOWER, 1.03), Verdict.SLOWER, ReasonKind.SECOND_STANDS),
        (Comparison(row("BM_a"), Verdict.FAILING), Verdict.SLOWER, ReasonKind.SECOND_STANDS),
    ],
)
def test_only_the_same_or_faster_lifts_a_slow_down(
    other: Comparison, verdict: Verdict, kind: ReasonKind
) -> None:
    found = second_opinion(FIRST, other, POLICY, FIRST.pairs)

    assert (found.verdict, found.reasons[0].kind) == (verdict, kind)
    assert found.reasons[0].facts[:2] == (str(other.verdict), other.pairs)
    assert (found.ratio, found.interval, found.pairs) == (FIRST.ratio, FIRST.interval, FIRST.pairs)


def test_a_row_with_fewer_pairs_stands() -> None:
    other = second(Verdict.SAME, 1.001, pairs=FIRST.pairs - 1)

    assert second_opinion(FIRST, other, POLICY, FIRST.pairs - 1).verdict is Verdict.SLOWER


def test_both_sequences_together_are_held_against_the_size_that_votes_for_the_benchmark() -> None:
    policy = Policy(vote_at_of={"BM_a": 0.005})

    assert second_opinion(FIRST, second(Verdict.SAME, 1.001), policy, 24).verdict is Verdict.SLOWER


@pytest.mark.parametrize("first", [SAME, FASTER, UNDECIDED])
def test_nothing_else_is_judged_again(first: Comparison) -> None:
    assert second_opinion(first, second(Verdict.SLOWER, 1.5), POLICY, 24) == first


def test_its_pairs_are_never_those_of_a_relink() -> None:
    assert SECOND not in {0, *VARIANTS}
