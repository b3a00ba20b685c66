"""Rates, proposals and machines, compared with their definitions."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from service.domain.failures.evidence import (
    ALPHA,
    APART,
    LEAST_FAILURES,
    Ground,
    Rate,
    Sighting,
    explaining_machines,
    fisher_exact,
    is_proposed_for_closing,
    proposal_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

START = datetime(2026, 2, 25, 18, 0, tzinfo=UTC)
RATES = st.integers(0, 3000).flatmap(lambda n: st.integers(0, n).map(lambda k: Rate(k, n)))


def seen(change: str, hours: float = 0, parent: str = "base", host: str = "", **grounds: bool) -> Sighting:
    """Make a sighting at the only patch set of a change."""
    at = START + timedelta(hours=hours)
    return Sighting(change=change, revision=f"r{change}", parent=parent, host=host, at=at, **grounds)


# Rates


@pytest.mark.parametrize(
    ("failed", "builds", "low", "high"),
    [  # Newcombe, "Two-sided confidence intervals for the single proportion", 1998, Table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_an_interval_is_that_of_the_published_table(
    failed: int, builds: int, low: float, high: float
) -> None:
    assert Rate(failed, builds).interval == pytest.approx((low, high), abs=5e-5)


@given(RATES)
def test_an_interval_contains_the_share_and_stays_within_0_and_1(rate: Rate) -> None:
    low, high = rate.interval

    assert 0 <= low <= rate.share <= high <= 1
    assert (low == 0) == (rate.failed == 0)
    assert (high == 1) == (rate.failed == rate.builds)


@given(RATES.filter(lambda rate: 0 < rate.failed < rate.builds))
def test_an_end_of_an_interval_is_where_the_score_test_is_at_its_limit(rate: Rate) -> None:
    z = NormalDist().inv_cdf(0.975)

    for end in rate.interval:
        score = (rate.share - end) / math.sqrt(end * (1 - end) / rate.builds)
        assert abs(score) == pytest.approx(z, rel=1e-6)


@given(RATES)
def test_passes_and_failures_mirror_each_other(rate: Rate) -> None:
    low, high = Rate(rate.builds - rate.failed, rate.builds).interval

    assert (1 - high, 1 - low) == pytest.approx(rate.interval, abs=1e-12)


@pytest.mark.parametrize(("failed", "builds"), [(-1, 3), (4, 3), (0, -1)])
def test_more_failures_than_builds_are_refused(failed: int, builds: int) -> None:
    with pytest.raises(ValueError, match="cannot have failed"):
        Rate(failed, builds)


# Closing


@given(RATES, st.integers(0, 400))
def test_closing_is_proposed_once_luck_has_less_than_5_percent(rate: Rate, since: int) -> None:
    chance = (1 - Fraction(rate.failed, rate.builds or 1)) ** since

    # Rounding may decide only between chances that are equal to fifteen digits.
    if abs(chance - Fraction(1, 20)) > Fraction(1, 10**12):
        assert is_proposed_for_closing(rate, since) is (chance < Fraction(1, 20))


@pytest.mark.parametrize(("since", "is_proposed"), [(0, False), (58, False), (59, True)])
def test_one_failure_in_20_builds_is_missed_after_59(since: int, is_proposed: bool) -> None:  # noqa: FBT001 - an expected value
    assert is_proposed_for_closing(Rate(1, 20), since) is is_proposed


def test_a_failure_that_never_occurred_is_not_proposed_for_closing() -> None:
    assert not is_proposed_for_closing(Rate(0, 20), 10**6)
    assert not is_proposed_for_closing(Rate(0, 0), 10**6)


def test_a_failure_of_every_build_is_proposed_after_one_without_it() -> None:
    assert not is_proposed_for_closing(Rate(9, 9), 0)
    assert is_proposed_for_closing(Rate(9, 9), 1)


# Fisher's exact test


def by_formula(part: Rate, whole: Rate) -> Fraction:
    """Add the exact probabilities of the hypergeometric distribution."""
    rest = whole.builds - part.builds
    tail = range(part.failed, min(part.builds, whole.failed) + 1)
    ways = sum(math.comb(part.builds, k) * math.comb(rest, whole.failed - k) for k in tail)
    return Fraction(ways, math.comb(whole.builds, whole.failed))


def by_enumeration(part: Rate, whole: Rate) -> Fraction:
    """Count the ways to choose the failed builds; the first ones are the part's."""
    ways = [
        sum(build < part.builds for build in chosen)
        for chosen in combinations(range(whole.builds), whole.failed)
    ]
    return Fraction(sum(count >= part.failed for count in ways), len(ways))


@st.composite
def tables(draw: st.DrawFn, most: int) -> tuple[Rate, Rate]:
    """Draw the rate of a machine and that of all."""
    part_builds, other_builds = draw(st.integers(0, most)), draw(st.integers(0, most))
    part = Rate(draw(st.integers(0, part_builds)), part_builds)
    others = Rate(draw(st.integers(0, other_builds)), other_builds)
    return part, Rate(part.failed + others.failed, part.builds + others.builds)


@given(tables(5))
def test_fisher_counts_the_choices_of_failed_builds(table: tuple[Rate, Rate]) -> None:
    assert fisher_exact(*table) == pytest.approx(float(by_enumeration(*table)), rel=1e-9)


@given(tables(300))
def test_fisher_adds_the_hypergeometric_probabilities(table: tuple[Rate, Rate]) -> None:
    assert fisher_exact(*table) == pytest.approx(float(by_formula(*table)), rel=1e-8)


def test_fisher_gives_the_lady_tasting_tea() -> None:
    assert fisher_exact(Rate(3, 4), Rate(4, 8)) == pytest.approx(17 / 70)
    assert fisher_exact(Rate(4, 4), Rate(4, 8)) == pytest.approx(1 / 70)


def test_fisher_is_exact_for_a_year_of_builds() -> None:
    part, whole = Rate(30, 20_000), Rate(60, 100_000)

    assert fisher_exact(part, whole) == pytest.approx(float(by_formula(part, whole)), rel=1e-7)


@pytest.mark.parametrize(
    ("part", "whole"), [(Rate(3, 4), Rate(2, 9)), (Rate(0, 5), Rate(3, 4)), (Rate(0, 4), Rate(3, 5))]
)
def test_an_impossible_part_is_refused(part: Rate, whole: Rate) -> None:
    with pytest.raises(ValueError, match="not a part"):
        fisher_exact(part, whole)


# Machines


def test_a_machine_with_all_failures_is_named() -> None:
    rates = {"lin-1": Rate(0, 100), "lin-2": Rate(6, 100), "lin-3": Rate(0, 100)}
    (named,) = explaining_machines(rates)

    assert (named.host, named.rate) == ("lin-2", Rate(6, 100))
    assert named.p == pytest.approx(3 * float(by_formula(Rate(6, 100), Rate(6, 300))))


def test_two_machines_can_explain_a_signature() -> None:
    rates = {"a": Rate(0, 400), "b": Rate(20, 100), "c": Rate(12, 100), "d": Rate(0, 400)}

    assert [named.host for named in explaining_machines(rates)] == ["b", "c"]


def test_no_machine_is_named_for_failures_on_all() -> None:
    assert explaining_machines({"a": Rate(7, 100), "b": Rate(6, 100), "c": Rate(9, 100)}) == ()


def test_no_machine_is_named_for_four_failures() -> None:
    assert LEAST_FAILURES == 5
    assert explaining_machines({"a": Rate(4, 4), "b": Rate(0, 1000)}) == ()
    assert [named.host for named in explaining_machines({"a": Rate(5, 5), "b": Rate(0, 1000)})] == ["a"]


def test_the_only_machine_explains_nothing() -> None:
    assert explaining_machines({"a": Rate(50, 60)}) == ()
    assert explaining_machines({"a": Rate(50, 60), "idle": Rate(0, 0)}) == ()
    assert explaining_machines({}) == ()


HOSTS = st.dictionaries(
    st.sampled_from("abcdef"),
    st.integers(0, 40).flatmap(lambda n: st.integers(0, n).map(lambda k: Rate(k, n))),
)


@given(HOSTS)
def test_machines_are_those_of_holms_procedure(rates: dict[str, Rate]) -> None:
    used = {host: rate for host, rate in rates.items() if rate.builds}
    whole = Rate(sum(r.failed for r in used.values()), sum(r.builds for r in used.values()))
    ps = sorted((by_formula(rate, whole), host) for host, rate in used.items())
    # Rounding may decide only between values that are equal to nine digits.
    assume(
        all(
            abs(p * (len(ps) - place) - Fraction(ALPHA)) > Fraction(1, 10**11)
            for place, (p, _) in enumerate(ps)
        )
    )
    rejected: set[str] = set()
    for place, (p, host) in enumerate(ps):
        if p > Fraction(ALPHA) / (len(ps) - place):
            break
        rejected.add(host)

    named = explaining_machines(rates)

    assert {machine.host for machine in named} == (rejected if whole.failed >= LEAST_FAILURES else set())
    assert [machine.p for machine in named] == sorted(machine.p for machine in named)


@given(HOSTS)
def test_a_named_machine_fails_more_often_than_all_together(rates: dict[str, Rate]) -> None:
    failed, builds = (
        (sum(figures) for figures in zip(*((r.failed, r.builds) for r in rates.values()), strict=True))
        if rates
        else (0, 0)
    )

    assert all(
        named.rate.failed * builds > failed * named.rate.builds for named in explaining_machines(rates)
    )


# Proposals


def grounds(sightings: Iterable[Sighting]) -> tuple[Ground, ...]:
    proposal = proposal_of(list(sightings))
    return proposal.grounds if proposal else ()


def test_two_unrelated_changes_more_than_six_hours_apart_are_a_ground() -> None:
    assert timedelta(hours=6) == APART
    assert grounds([seen("1"), seen("2", 6.01)]) == (Ground.UNRELATED_CHANGES,)
    assert grounds([seen("1"), seen("2", 6)]) == ()


def test_one_change_is_no_ground_however_long_it_fails() -> None:
    assert grounds([seen("1"), seen("1", 100)]) == ()


def test_changes_of_one_afternoon_are_no_ground() -> None:
    assert grounds([seen(str(number), number / 10) for number in range(50)]) == ()


def test_a_change_and_the_one_on_top_of_it_are_related() -> None:
    assert grounds([seen("1"), seen("2", 10, parent="r1")]) == ()
    assert grounds([seen("2"), seen("1", 10, parent="r2")]) == ()


def test_changes_are_related_through_a_change_between_them() -> None:
    chain = [seen("1"), seen("2", 1, parent="r1"), seen("3", 10, parent="r2")]

    assert grounds(chain) == ()
    assert grounds([chain[0], chain[2]]) == (Ground.UNRELATED_CHANGES,)


def test_changes_on_one_parent_are_unrelated() -> None:
    assert grounds([seen("1", parent="tip"), seen("2", 7, parent="tip")]) == (Ground.UNRELATED_CHANGES,)


def test_the_changes_themselves_must_be_apart() -> None:
    assert grounds([seen("1", 0), seen("2", 3), seen("1", 6)]) == ()
    assert grounds([seen("1", 0), seen("2", 3), seen("1", 9.1)]) == (Ground.UNRELATED_CHANGES,)


def test_a_parent_that_fails_too_is_a_ground() -> None:
    assert grounds([seen("1"), seen("1", 1, fails_on_parent=True)]) == (Ground.FAILS_ON_PARENT,)


def test_a_retry_that_passed_is_a_ground() -> None:
    assert grounds([seen("1", passed_on_retry=True)]) == (Ground.PASSED_ON_RETRY,)


def test_a_proposal_names_its_grounds_and_counts_unrelated_changes() -> None:
    sightings = [
        seen("2", 8, host="lin-2", passed_on_retry=True),
        seen("1", 0, host="lin-1"),
        seen("3", 9, parent="r2", host="lin-2"),
        seen("4", 4),
    ]
    proposal = proposal_of(sightings)

    assert proposal is not None
    assert proposal.grounds == (Ground.UNRELATED_CHANGES, Ground.PASSED_ON_RETRY)
    assert proposal.changes == 3


def test_nothing_seen_is_no_proposal() -> None:
    assert proposal_of([]) is None


SIGHTINGS = st.lists(
    st.builds(
        lambda change, patch_set, parent, hours: Sighting(
            change=change,
            revision=f"{change}{patch_set}",
            parent=parent,
            host="",
            at=START + timedelta(hours=hours),
        ),
        st.sampled_from("abcd"),
        st.sampled_from("12"),
        st.sampled_from(["a1", "b1", "b2", "c1", "d2", "tip"]),
        st.integers(0, 14),
    ),
    max_size=7,
)


def are_related(sightings: list[Sighting], one: Sighting, other: Sighting) -> bool:
    """Follow changes and parents step by step."""
    reached, todo = {one}, [one]
    while todo:
        at = todo.pop()
        for near in sightings:
            if near not in reached and (
                near.change == at.change
                or near.parent == at.revision
                or near.revision in {at.parent, at.revision}
            ):
                reached.add(near)
                todo.append(near)
    return other in reached


@given(SIGHTINGS)
@settings(max_examples=300)
def test_unrelated_changes_are_those_that_no_path_of_sightings_joins(sightings: list[Sighting]) -> None:
    is_ground = any(
        other.at - one.at > APART and not are_related(sightings, one, other)
        for one in sightings
        for other in sightings
    )

    assert grounds(sightings) == ((Ground.UNRELATED_CHANGES,) if is_ground else ())


@given(SIGHTINGS, st.randoms(use_true_random=False))
def test_the_order_of_sightings_does_not_matter(sightings: list[Sighting], random: object) -> None:
    shuffled = list(sightings)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert proposal_of(shuffled) == proposal_of(sightings)
