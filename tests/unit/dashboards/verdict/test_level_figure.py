"""The figure of how far each commit is from a chosen one."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dashboards.verdict.trend_figure import figure_of
from dashboards.verdict.trend_lines import MOST_DRAWN, begun_together, has_levels
from dashboards.verdict.trend_view import MOST_POINTS, TrendView
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.reading import MOST_UNTOUCHED
from service.ports.verdict import UntouchedCommit
from tests.support.reading.sample_project import sample_project
from tests.support.reading.views import trend_point

if TYPE_CHECKING:
    from service.ports.verdict import Point, SeriesWithPoints

GOLDEN = Path(__file__).parent / "golden" / "levels.json"
READING = sample_project()


def trend_of(*points: Point) -> SeriesWithPoints:
    return replace(READING.trends[0], points=points)


def level_figure(
    trend: SeriesWithPoints, since: str = "", *, by: str = "date", axis: str = "linear"
) -> dict[str, Any]:
    return figure_of([trend], TrendView(since=since, by=by, axis=axis))


def heights(figure: dict[str, Any], name: str) -> list[float | None]:
    trace = next(each for each in figure["data"] if each["name"] == name)
    return [None if y is None else round(y, 3) for y in trace["y"]]


def test_the_levels_are_drawn_as_recorded() -> None:
    """Set BENCHGATE_UPDATE_GOLDEN=1 to record a wanted change."""
    text = json.dumps(level_figure(READING.trend(1, 12)), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("BENCHGATE_UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_a_machine_that_drifts_moves_no_level() -> None:
    """Its values rise by 1 % a commit, but each commit is as fast as its parent."""
    trend = trend_of(*(trend_point(k, 1.01**k, ratio=1.0) for k in range(20)))
    assert set(heights(level_figure(trend), "merged")) == {0}


def test_a_new_environment_has_a_line_and_no_gap() -> None:
    points = (trend_point(k, 1.0, ratio=1.1, environment_id=1 + k // 2) for k in range(4))
    figure = level_figure(trend_of(*points))
    assert heights(figure, "merged") == [10.0, 21.0, 33.1, 46.41]
    assert len(figure["layout"]["shapes"]) == 1


def test_a_commit_that_was_not_measured_leaves_a_gap() -> None:
    points = [trend_point(k, 1.0, ratio=1.1) for k in range(4)]
    figure = level_figure(trend_of(points[0], points[2], points[3]))
    assert heights(figure, "merged") == [10.0, None, 21.0, 33.1]
    band = next(each for each in figure["data"] if each["name"] == "95 % interval")
    assert [y is None for y in band["y"]] == [False, False, True, *[False] * 6]
    assert len(band["x"]) == len(band["y"])


def test_a_commit_that_touches_nothing_leaves_none() -> None:
    points = [trend_point(k, 1.0, ratio=1.1) for k in range(3)]
    between = UntouchedCommit(points[1].revision, points[0].revision, points[1].measured_at)
    trend = replace(trend_of(points[0], points[2]), untouched=(between,))
    assert heights(level_figure(trend), "merged") == [10.0, 21.0]


def test_levels_are_relative_to_the_chosen_commit() -> None:
    points = [trend_point(k, 1.0, ratio=1.1) for k in range(3)]
    figure = level_figure(trend_of(*points), points[1].revision)
    assert heights(figure, "merged") == [-9.091, 0, 10.0]
    assert points[1].revision[:10] in figure["layout"]["yaxis"]["title"]["text"]
    assert figure["cards"][2]["level"].endswith(f"since {points[1].revision[:10]}")
    unknown = level_figure(trend_of(*points), "f" * 40)
    assert heights(unknown, "merged") == [10.0, 21.0, 33.1]


def test_patch_sets_are_at_the_level_of_their_parent_times_their_own_ratio() -> None:
    merged = [trend_point(k, 1.0, ratio=1.1) for k in range(3)]
    patch_set = trend_point(7, 1.0, kind=RunKind.CHECK, ratio=0.5)
    old = replace(patch_set, parent=merged[0].revision)
    unknown = replace(patch_set, parent="e" * 40)
    assert heights(level_figure(trend_of(*merged, old, unknown)), "patch sets") == [-45.0, -33.45]


def test_the_interval_widens_with_the_distance() -> None:
    points = [trend_point(k, 1.0, ratio=1.0, error=0.01, pairs=0) for k in range(4)]
    band = level_figure(trend_of(*points))["data"][0]["y"]
    assert band[:7:2] == pytest.approx(
        [100 * math.expm1(1.96 * 0.01 * math.sqrt(k)) for k in (1, 2, 3, 4)], abs=1e-5
    )
    assert band[1:7:2] == band[:6:2], "a level and its interval hold until the next commit"


def test_what_is_slower_or_faster_is_marked_above_all_dots() -> None:
    points = [trend_point(0, 1.0), trend_point(1, 1.0, verdict=Verdict.SLOWER, ratio=0.9)]
    proposed = trend_point(2, 1.0, verdict=Verdict.FASTER, ratio=1.2, kind=RunKind.CHECK)
    figure = level_figure(trend_of(*points, proposed))
    *_, merged, patch_sets = figure["data"]
    assert merged["marker"]["symbol"] == ["triangle-down"]
    assert patch_sets["marker"]["symbol"] == ["triangle-up-open"]
    assert figure["cards"][merged["customdata"][0]]["verdict"].startswith("▼ slower −10.0 %")


def test_a_logarithmic_axis_shows_ratios() -> None:
    figure = level_figure(trend_of(*(trend_point(k, 1.0, ratio=1.1) for k in range(3))), axis="log")
    assert heights(figure, "merged") == [1.1, 1.21, 1.331]
    assert (figure["layout"]["yaxis"]["type"], figure["layout"]["yaxis"]["tickprefix"]) == ("log", "×")


def test_commits_follow_each_other_in_the_order_of_the_branch_whenever_they_were_measured() -> None:
    points = [trend_point(k, 1.0, ratio=1.1) for k in range(3)]
    late = replace(points[1], measured_at=points[2].measured_at + timedelta(hours=1))
    proposed = trend_point(9, 1.0, kind=RunKind.CHECK, parent=points[0].revision)
    figure = level_figure(trend_of(points[0], points[2], late, proposed), by="commit")
    merged, patch_sets = figure["data"][1:3]
    assert merged["x"] == [-2, -1, 0]
    assert [round(y, 3) for y in merged["y"]] == [10.0, 21.0, 33.1]
    assert patch_sets["x"] == [-1.5]


def test_a_long_line_is_thinned_after_it_was_levelled() -> None:
    """One step of 2 % among two thousand commits stays, and the last level adds up all of them."""
    points = [trend_point(k, 1.0, ratio=1.02 if k == 777 else 1.0001) for k in range(2000)]
    points[1234] = replace(points[1234], verdict=Verdict.SLOWER, ratio=0.97)
    figure = level_figure(trend_of(*points))
    drawn = heights(figure, "merged")
    assert len(drawn) <= MOST_DRAWN
    assert drawn[-1] == pytest.approx(100 * (1.0001**1998 * 1.02 * 0.97 - 1), abs=1e-3)
    assert max(after - before for before, after in pairwise(drawn) if before and after) > 2
    assert figure["data"][-1]["marker"]["symbol"] == ["triangle-down"]


def test_several_series_are_ratios_to_their_first_commit_and_look_different() -> None:
    one = trend_of(*(trend_point(k, 7e8, ratio=1.1) for k in range(3)))
    bytes_ = replace(one.series, id=2, benchmark="BM_Other", metric="max_bytes_used", unit="B")
    other = replace(one, series=bytes_, points=tuple(trend_point(k, 64.0, ratio=0.5) for k in range(3)))
    figure = figure_of([one, other], TrendView())
    assert heights(figure, figure["data"][0]["name"]) == [1.1, 1.21, 1.331]
    assert heights(figure, figure["data"][1]["name"]) == [0.5, 0.25, 0.125]
    first, second = figure["data"]
    for part, name in (("line", "color"), ("line", "dash"), ("marker", "symbol")):
        assert first[part][name] != second[part][name]
    assert second["name"].startswith("BM_Other · ")


def test_values_of_several_series_are_ratios_to_their_first_value() -> None:
    one = trend_of(*(trend_point(k, 2.0 + k) for k in range(3)))
    other = replace(one, series=replace(one.series, id=2, benchmark="BM_Other"))
    figure = figure_of([one, other], TrendView(shown="values"))
    assert figure["data"][0]["y"] == [1.0, 1.5, 2.0]


def series_of(number: int, *points: Point, name: str = "BM_x") -> SeriesWithPoints:
    return replace(trend_of(*points), series=replace(READING.trends[0].series, id=number, benchmark=name))


def test_values_of_several_series_have_a_gap_and_a_line_at_a_new_environment() -> None:
    points = [trend_point(k, 1.0 + k, environment_id=1 + k // 2) for k in range(3)]
    figure = figure_of([series_of(k, *points) for k in (1, 2)], TrendView(shown="values"))
    assert figure["data"][1]["y"] == [1.0, 2.0, None, 3.0]
    assert [shape["x0"] for shape in figure["layout"]["shapes"]] == [figure["data"][0]["x"][3]]


def test_a_series_that_begins_with_0_has_no_ratios_and_is_named_instead() -> None:
    zero = series_of(1, trend_point(0, 0.0), trend_point(1, 2.0), name="BM_zero")
    figure = figure_of([zero, series_of(2, trend_point(0, 2.0))], TrendView(shown="values"))
    assert [trace["name"] for trace in figure["data"]] == ["BM_x"]
    assert figure["notes"] == ["BM_zero is not drawn: in this range it is empty, or begins with 0."]


def test_several_series_begin_together() -> None:
    ended = series_of(1, *(trend_point(k, 1.0) for k in range(3)))
    newer = series_of(2, *(trend_point(k, 1.0) for k in range(2, 9)))
    moments = [point.moment for point in newer.points]
    between = UntouchedCommit("a" * 40, "b" * 40, moments[0])
    begun = begun_together([ended, replace(newer, untouched=(between,))], moments[-1] - moments[1])
    assert [(each.points, each.untouched) for each in begun] == [((), ()), (newer.points[1:], ())]
    assert begun_together([ended], timedelta(0)) == [ended]


def test_names_that_are_equal_after_the_cut_have_numbers_in_legend_and_cards() -> None:
    names = [f"BM_{'x' * 30}{k}{'y' * 30}" for k in range(3)]
    figure = figure_of(
        [series_of(k, trend_point(0, 1.0), name=name) for k, name in enumerate(names)], TrendView()
    )
    first, second, third = (trace["name"] for trace in figure["data"])
    assert (second, third) == (f"{first} (2)", f"{first} (3)")
    assert [card["series"] for card in figure["cards"]] == [first, second, third]


def test_a_commit_that_one_of_several_series_misses_is_named() -> None:
    points = [trend_point(k, 1.0, ratio=1.1) for k in range(3)]
    view = TrendView(since=points[0].revision)
    one, other = series_of(1, *points), series_of(2, *points[2:])
    assert figure_of([one, one], view)["notes"] == []
    (note,) = figure_of([one, other], view)["notes"]
    assert points[0].revision[:10] in note


def test_merged_points_without_their_commit_are_not_placed_among_commits() -> None:
    points = [trend_point(k, 1.0, revision="" if k == 1 else f"{k:040x}") for k in range(3)]
    for by, count in (("commit", 2), ("date", 3)):
        assert len(figure_of([trend_of(*points)], TrendView(shown="values", by=by))["data"][0]["x"]) == count


def test_a_figure_says_that_older_commits_are_left_out() -> None:
    point = trend_point(0, 1.0, ratio=1.0)
    untouched = (UntouchedCommit("a" * 40, "b" * 40, point.moment),) * MOST_UNTOUCHED
    for trend in (trend_of(*[point] * MOST_POINTS), replace(trend_of(point), untouched=untouched)):
        assert any("Older commits are left out" in note for note in level_figure(trend)["notes"])
    assert level_figure(trend_of(point))["notes"] == []


@pytest.mark.parametrize("more", [{"parent": None}, {"error": None}, {"ratio": None}])
def test_without_pairs_against_parents_values_are_drawn(more: dict[str, Any]) -> None:
    trend = trend_of(trend_point(0, 1.0, **more))
    assert not has_levels(trend)
    figure = level_figure(trend)
    assert heights(figure, "merged") == [1.0]
    assert "since" not in figure["layout"]["yaxis"]["title"]["text"]


def test_a_series_whose_commits_have_no_pairs_any_more_has_no_levels() -> None:
    """Commits that touch nothing are no measurement."""
    old = trend_point(0, 1.0, error=None)
    between = UntouchedCommit("b" * 40, old.revision, old.measured_at)
    assert not has_levels(replace(trend_of(old), untouched=(between,)))


def test_the_largest_changes_are_drawn() -> None:
    points = [trend_point(k, 1.0, ratio=1e300, error=1.0) for k in range(4)]
    assert all(math.isfinite(y) for y in heights(level_figure(trend_of(*points)), "merged") if y is not None)


def test_a_patch_set_far_from_the_line_does_not_flatten_it() -> None:
    merged = [trend_point(k, 1.0, ratio=1.01) for k in range(10)]
    near, far = (trend_point(11, 1.0, kind=RunKind.CHECK, ratio=ratio) for ratio in (1.3, 1300.0))
    layout = level_figure(trend_of(*merged, near, far))["layout"]
    low, high = layout["yaxis"]["range"]
    assert -30 < low < 0
    assert 40 < high < 60
    assert layout["annotations"][-1]["text"] == "1 patch set is beyond this scale: double-click"
    assert "range" not in level_figure(trend_of(*merged, near))["layout"]["yaxis"]
