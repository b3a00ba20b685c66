"""The commits of a branch in line, with their levels."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.verdict.trend.line import LevelledLine, Step, followed, join_unchanged, level_line

START = datetime(2026, 1, 5, tzinfo=UTC)


def _step(
    parent: str, revision: str, log: float | None = 0.0, error: float | None = 0.002, **more: int
) -> Step:
    moment = START + timedelta(hours=more.get("hour", ord(revision[0])))
    return Step(revision, parent, moment, log, error, more.get("pairs", 0))


def _drawn(line: LevelledLine) -> dict[str, float]:
    return {name: round(line.levels[name].offset + line.levels[name].log, 6) for name in line.commits}


def test_commits_are_in_the_order_of_their_first_parents() -> None:
    """The order of measuring does not matter."""
    line = level_line([_step("b", "c", 0.01, hour=1), _step("a", "b", 0.02, hour=9), _step("c", "d", hour=2)])
    assert line.commits == ("a", "b", "c", "d")
    assert _drawn(line) == {"a": 0, "b": 0.02, "c": 0.03, "d": 0.03}


def test_levels_are_relative_to_the_chosen_commit() -> None:
    line = level_line([_step("a", "b", 0.02), _step("b", "c", 0.01), _step("c", "d", -0.04)], since="c")
    assert _drawn(line) == {"a": -0.03, "b": -0.01, "c": 0, "d": -0.04}
    assert line.levels["a"].since == "c"
    assert line.levels["c"].error == 0
    assert (line.levels["d"].low, line.levels["d"].high) == pytest.approx((-0.04 - 0.00392, -0.04 + 0.00392))


def test_a_commit_that_touches_nothing_is_no_gap() -> None:
    line = level_line([_step("a", "b", 0.02), _step("b", "c", 0.0, 0.0), _step("c", "d", 0.01)])
    assert _drawn(line)["d"] == 0.03
    assert line.levels["d"].since == "a"
    assert line.levels["d"].error == pytest.approx(0.002 * math.sqrt(2))


@pytest.mark.parametrize("lost", [[], [Step("c", "b", START, None, None)]])
def test_behind_a_gap_the_line_goes_on_where_it_stopped(lost: list[Step]) -> None:
    """Nobody knows what the lost commit changed, so the levels behind it are relative to the next one."""
    steps = [_step("a", "b", 0.02), *lost, _step("c", "d", 0.05), _step("d", "e", 0.01)]
    line = level_line(steps)
    assert line.commits == ("a", "b", "c", "d", "e")
    assert _drawn(line) == {"a": 0, "b": 0.02, "c": 0.02, "d": 0.07, "e": 0.08}
    assert [line.levels[name].since for name in "abcde"] == ["a", "a", "c", "c", "c"]
    assert line.levels["c"].error == 0
    behind = level_line(steps, since="d")
    assert _drawn(behind) == {"a": -0.07, "b": -0.05, "c": -0.05, "d": 0, "e": 0.01}


def test_a_commit_that_was_measured_twice_counts_by_both() -> None:
    line = level_line([_step("a", "b", 0.02), _step("a", "b", 0.04)])
    assert line.levels["b"].log == pytest.approx(0.03)
    assert line.levels["b"].error == pytest.approx(0.002 / math.sqrt(2))


def test_a_branch_that_was_set_back_goes_on_with_the_later_commit() -> None:
    line = level_line([_step("a", "b", 0.02, hour=1), _step("a", "c", 0.01, hour=2), _step("c", "d", hour=3)])
    assert (line.commits, line.followed) == (("a", "c", "d", "b"), ("a", "c", "d"))
    assert _drawn(line)["d"] == 0.01


def test_the_followed_line_ends_at_the_tip() -> None:
    """Also if a commit that was set back was measured last."""
    back = [_step("a", "b", hour=1), _step("a", "b", hour=4)]
    assert followed([_step("a", "c", hour=2), _step("c", "d", hour=3), *back]) == ("a", "c", "d")


def test_the_spread_of_a_few_pairs_is_drawn_to_that_of_the_others() -> None:
    """Five pairs may agree by chance: their error would be far too small."""
    others = [_step(f"{k}", f"{k + 1}", 0.0, 0.002, pairs=20) for k in range(5)]
    line = level_line([*others, _step("5", "6", 0.0, 0.00001, pairs=5)])
    added = line.levels["6"].error ** 2 - line.levels["5"].error ** 2
    assert math.sqrt(added) > 0.003


def test_exact_counters_have_no_error() -> None:
    line = level_line([_step("a", "b", 0.02, 0.0), _step("b", "c", 0.01, 0.0)])
    assert [line.levels[name].error for name in "abc"] == pytest.approx([0, 0, 0], abs=1e-5)


def test_nothing_is_no_line() -> None:
    assert level_line([]) == LevelledLine((), {})


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"), st.booleans()), max_size=12))
def test_any_history_has_each_commit_once_with_a_level(drawn: list[tuple[str, str, bool]]) -> None:
    steps = [_step(a, b, *((0.01, 0.001) if known else (None, None))) for a, b, known in drawn if a != b]
    line = level_line(steps)
    assert sorted(line.commits) == sorted({name for each in steps for name in (each.parent, each.revision)})
    assert line.levels.keys() == {*line.commits}


def test_a_commit_that_is_measured_again_keeps_its_place() -> None:
    """Also if the branch was set back to its parent in the meantime."""
    line = level_line(
        [_step("a", "b", hour=1), _step("a", "c", hour=2), _step("c", "d", hour=3), _step("a", "b", hour=4)]
    )
    assert line.commits[:3] == ("a", "c", "d")
    assert {line.levels[name].since for name in "acd"} == {"a"}


def test_a_noisy_series_has_all_its_levels() -> None:
    line = level_line([_step(f"{k}", f"{k + 1}", 0.0, 0.5, hour=k) for k in range(250)])
    assert line.levels.keys() == {*line.commits}


def test_many_gaps_take_no_longer_than_the_commits_between_them() -> None:
    before = process_time()
    level_line([_step(f"{2 * k}", f"{2 * k + 1}", 0.01, 0.001, hour=k) for k in range(5000)])
    assert process_time() - before < 10


def test_an_anchor_bounds_the_error_of_a_long_line_and_is_no_commit_of_it() -> None:
    names = [f"c{number:03}" for number in range(200)]
    steps = [_step(*pair, 0.001, 0.002, hour=place) for place, pair in enumerate(pairwise(names))]
    anchor = _step(names[0], names[-1], 0.15, 0.003)
    alone, joined = level_line(steps), level_line(steps, anchors=[anchor])
    assert joined.commits == alone.commits
    assert alone.levels[names[-1]].error == pytest.approx(0.002 * math.sqrt(199))
    assert joined.levels[names[-1]].error < 0.004
    assert 0.15 < joined.levels[names[-1]].log < 0.199


def test_an_anchor_of_unknown_commits_or_against_the_order_is_left_out() -> None:
    steps = [_step("a", "b", 0.02), _step("b", "c", 0.01)]
    wrong = [_step("c", "a", 0.5), _step("a", "z", 0.5), _step("y", "c", 0.5), _step("a", "c", None, None)]
    assert level_line(steps, anchors=wrong) == level_line(steps)


def test_an_anchor_joins_both_sides_of_a_gap() -> None:
    steps = [_step("a", "b", 0.02), _step("c", "d", 0.05)]
    line = level_line(steps, anchors=[_step("b", "d", 0.04)])
    assert _drawn(line) == {"a": 0, "b": 0.02, "c": 0.01, "d": 0.06}
    assert {each.since for each in line.levels.values()} == {"a"}


def _unchanged(pairs: str) -> list[Step]:
    return [_step(each[0], each[1], 0.0, 0.0) for each in pairs.split()]


def test_commits_that_change_nothing_are_joined_between_those_that_are_kept() -> None:
    joined = [*join_unchanged(_unchanged("cd ab bc de ef"), "d")]
    assert {(each.parent, each.revision, each.moment) for each in joined} == {
        ("a", "d", _step("a", "b").moment),
        ("d", "f", _step("d", "e").moment),
    }


def test_where_unchanged_commits_part_they_stay_and_what_leads_nowhere_is_left_out() -> None:
    joined = join_unchanged(_unchanged("ab bc cd ce ef xy yz"), "a")
    assert [each.parent + each.revision for each in joined] == ["ac", "cd", "cf"]


@given(
    st.lists(st.tuples(st.sampled_from([None, 0, 0, 0, 0.01]), st.booleans()), min_size=2, max_size=30),
    st.integers(0, 30),
)
def test_joining_commits_that_change_nothing_leaves_levels_as_they_are(
    line: list[tuple[float | None, bool]], since: int
) -> None:
    """Also at gaps, and where the branch was set back by one commit."""
    moments = [START + timedelta(hours=number) for number in range(len(line))]
    tip, steps = 0, []
    for number, (log, is_set_back) in enumerate(line, 1):
        error = 0.0 if log == 0 else 0.002
        if log is not None:
            steps.append(Step(str(number), str(tip), moments[number - 1], log, error))
        tip = tip if is_set_back else number
    unchanged = [each for each in steps if each.log == 0]
    measured = [each for each in steps if each.log]
    kept = {str(since), *(name for each in measured for name in (each.parent, each.revision))}
    whole = level_line(steps, str(since))
    joined = level_line([*measured, *join_unchanged(unchanged, kept)], str(since))
    found = [commit for commit in whole.followed if commit in kept]
    assert [commit for commit in joined.followed if commit in kept] == found
    for commit in found:
        of_whole, of_joined = whole.levels[commit], joined.levels[commit]
        assert of_joined.since == of_whole.since
        whole_log = of_whole.offset + of_whole.log
        assert of_joined.offset + of_joined.log == pytest.approx(whole_log, abs=1e-8)
        assert of_joined.error == pytest.approx(of_whole.error, abs=1e-4)
