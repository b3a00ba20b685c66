"""A series' levels: the differences of measured commits, adjusted together."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from service.domain.verdict.trend.levels import Level, Levelled, Link, level, pool_errors

_ERROR = 0.003


def _chain(*logs: float, error: float = _ERROR) -> list[Link]:
    return [Link(k, k + 1, log, error) for k, log in enumerate(logs)]


def _at(found: Levelled, commit: int) -> Level:
    reached = found.levels[commit]
    assert reached is not None
    return reached


def test_links_add_up_and_so_do_their_variances() -> None:
    found = level(4, _chain(0.05, 0.0, -0.02), reference=0)
    assert [_at(found, k).log for k in range(4)] == pytest.approx([0, 0.05, 0.05, 0.03])
    assert [_at(found, k).error for k in range(4)] == pytest.approx([_ERROR * math.sqrt(k) for k in range(4)])


def test_levels_are_relative_to_the_reference_on_both_sides_of_it() -> None:
    found = level(4, _chain(0.05, 0.01, -0.02), reference=2)
    assert [_at(found, k).log for k in range(4)] == pytest.approx([-0.06, -0.01, 0, -0.02])
    assert [_at(found, k).error for k in range(4)] == pytest.approx(
        [_ERROR * math.sqrt(k) for k in (2, 1, 0, 1)]
    )


def test_a_contradiction_is_shared_by_the_links_and_the_anchor() -> None:
    """Three equally good measurements of a triangle that miss each other by 0.9 % get a third each."""
    found = level(3, [*_chain(0.02, 0.01), Link(0, 2, 0.021, _ERROR)], reference=0)
    assert [_at(found, k).log for k in range(3)] == pytest.approx([0, 0.017, 0.024])
    assert _at(found, 2).error == pytest.approx(_ERROR * math.sqrt(2 / 3))


def test_a_precise_anchor_bounds_the_error_of_a_long_chain() -> None:
    links = [*_chain(*[0.001] * 100), Link(0, 100, 0.05, 0.001)]
    found = level(101, links, reference=0)
    assert _at(found, 100).log == pytest.approx(0.05, abs=1e-3)
    assert _at(found, 100).error < 0.001
    assert _at(found, 50).error == pytest.approx(_ERROR * math.sqrt(25), rel=0.01)  # two halves of 50 links


def test_a_gap_ends_what_is_known_unless_an_anchor_bridges_it() -> None:
    links = [Link(0, 1, 0.1, 0.01), Link(2, 3, 0.2, 0.01)]
    assert level(5, links, 0).levels[2:] == (None, None, None)
    assert level(5, links, 3).levels[:2] == (None, None)
    bridged = level(5, [*links, Link(1, 3, 0.5, 0.01)], 0)
    assert _at(bridged, 3).log == pytest.approx(0.6, abs=1e-5)
    assert _at(bridged, 2).log == pytest.approx(0.4, abs=1e-5)
    assert bridged.levels[4] is None


def test_equal_programs_are_exactly_as_fast() -> None:
    links = [Link(0, 1, 0.0, 0.0), Link(1, 2, 0.02, _ERROR), Link(0, 2, 0.02, 0.0), Link(0, 2, 0.02, 0.0)]
    found = level(3, links, 0)
    assert (_at(found, 1).log, _at(found, 1).error) == pytest.approx((0, 0), abs=1e-5)


def test_a_link_that_was_measured_twice_counts_by_both() -> None:
    found = level(2, [Link(0, 1, 0.01, 0.001), Link(0, 1, 0.04, 0.002)], 0)
    assert _at(found, 1).log == pytest.approx(0.016)  # weights 4 and 1
    assert _at(found, 1).error == pytest.approx(1 / math.sqrt(1 / 0.001**2 + 1 / 0.002**2))


def test_contradictions_beyond_chance_widen_every_error() -> None:
    close = level(3, [*_chain(0.02, 0.01), Link(0, 2, 0.033, _ERROR)], 0)
    assert close.misfit == 1
    far = level(3, [*_chain(0.02, 0.01), Link(0, 2, 0.09, _ERROR)], 0)
    assert far.misfit == pytest.approx(0.06 / (_ERROR * math.sqrt(3)))
    assert _at(far, 1).error == pytest.approx(far.misfit * _at(close, 1).error)


def test_an_anchor_across_a_gap_contradicts_nothing() -> None:
    assert level(4, [Link(0, 1, 0.1, 0.01), Link(2, 3, 0.2, 0.01), Link(0, 3, 3.0, 0.01)], 0).misfit == 1


@pytest.mark.parametrize(
    ("links", "reference", "named"),
    [
        *(([], 3, "reference"), ([], -1, "reference"), ([Link(1, 1, 0, 1)], 0, "forward")),
        *(([Link(2, 1, 0, 1)], 0, "forward"), ([Link(1, 3, 0, 1)], 0, "forward")),
    ],
)
def test_a_position_that_is_not_on_the_branch_is_refused(
    links: list[Link], reference: int, named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        level(3, links, reference)


_LINK = st.tuples(st.integers(0, 7), st.integers(1, 7), st.floats(-0.1, 0.1), st.floats(0.001, 0.02))


@given(st.lists(_LINK, max_size=14), st.integers(0, 8))
def test_levels_are_those_of_weighted_least_squares(
    drawn: list[tuple[int, int, float, float]], reference: int
) -> None:
    """On a whole chain with any anchors, the short way gives what the normal equations give."""
    whole = _chain(*(0.01 * k for k in range(8)), error=0.005)
    links = [*whole, *(Link(a, min(a + d, 8), log, error) for a, d, log, error in drawn)]
    design = np.zeros((len(links), 9))
    for row, each in zip(design, links, strict=True):
        row[each.patch], row[each.base] = 1, -1
    design = np.delete(design, reference, axis=1)
    weights = np.diag([1 / each.error**2 for each in links])
    covariance = np.linalg.inv(design.T @ weights @ design)
    logs = covariance @ design.T @ weights @ np.array([each.log for each in links])
    found = level(9, links, reference)
    others = [k for k in range(9) if k != reference]
    assert [_at(found, k).log for k in others] == pytest.approx(list(logs), abs=1e-8)
    assert [_at(found, k).error / found.misfit for k in others] == pytest.approx(
        list(np.sqrt(np.diag(covariance))), rel=1e-5
    )


def test_a_link_whose_pairs_agree_by_chance_gets_the_spread_of_the_others() -> None:
    usual = [Link(k, k + 1, 0.0, 0.002, 20) for k in range(5)]
    *others, lucky = pool_errors([*usual, Link(5, 6, 0.0, 0.00001, 5)])
    assert lucky.error == pytest.approx(
        0.004 * math.sqrt(20 / 24) * scipy.stats.t.ppf(0.975, 24) / 1.96, rel=1e-3
    )
    assert [each.error for each in others] == pytest.approx(
        [0.002 * scipy.stats.t.ppf(0.975, 39) / 1.96] * 5, rel=0.02
    )


def test_equal_pairs_are_not_equal_programs() -> None:
    """A rounded time may be the same in five pairs."""
    *_, rounded, same = pool_errors(
        [Link(0, 1, 0.0, 0.002, 20), Link(1, 2, 0.0, 0.0, 5), Link(2, 3, 0.0, 0.0)]
    )
    assert rounded.error > 0.003
    assert same.error == 0


def test_a_lone_link_is_as_uncertain_as_its_pairs() -> None:
    (alone,) = pool_errors([Link(0, 1, 0.0, 0.002, 5)])
    assert alone.error == pytest.approx(0.002 * scipy.stats.t.ppf(0.975, 4) / 1.96, rel=1e-4)
    assert pool_errors([]) == []


def test_links_of_any_error_join_commits() -> None:
    """A counter may scatter by a factor of a million, and 201 noisy links are one line."""
    assert None not in level(202, [Link(k, k + 1, 0.0, 0.5) for k in range(201)], 0).levels
    wild = level(4, [Link(0, 1, 0.0, 30.0), Link(2, 3, 0.0, 0.001), Link(1, 3, 0.5, 0.001)], 3)
    assert _at(wild, 1).log == pytest.approx(-0.5, abs=1e-3)
    assert _at(wild, 2).log == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("spread", [0.003, 0.01])
def test_the_interval_holds_as_often_as_it_says(spread: float) -> None:
    """Forty histories of 60 commits with estimated errors, an anchor for each dozen."""
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(40):
        truth = np.cumsum(rng.choice([0.0, 0.02, -0.02], 60, p=[0.9, 0.05, 0.05]))
        ends = [*((k, k + 1) for k in range(59)), *((k, k + 12) for k in range(0, 48, 12))]
        links = []
        for base, patch in ends:
            pairs = rng.normal(truth[patch] - truth[base], spread, 10)
            links.append(Link(base, patch, float(pairs.mean()), float(pairs.std(ddof=1) / 10**0.5), 10))
        found = level(60, pool_errors(links), 0)
        reached = [(_at(found, k), truth[k] - truth[0]) for k in range(1, 60)]
        inside += [abs(each.log - true) <= 1.96 * each.error for each, true in reached]
    assert 0.9 < np.mean(inside) < 0.99


def test_a_long_line_is_adjusted_as_a_short_one_is() -> None:
    """It is adjusted in blocks; the anchor's 0.1 more is shared by the links that it spans."""
    commits, first, last = 4501, 1500, 4500
    links = [*_chain(*[0.0] * (commits - 1)), Link(first, last, 0.1, _ERROR)]
    found = level(commits, links, reference=0)
    share = 0.1 * (last - first) / (last - first + 1)
    for commit in (1500, 1999, 2000, 2001, 3999, 4000, 4500):
        assert _at(found, commit).log == pytest.approx(share * (commit - first) / (last - first))
    assert _at(found, last).error < _at(level(commits, links[:-1], 0), last).error
