"""The figure of how far each commit is from a chosen one."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dashboards.verdict.level_figure import has_levels, level_figure
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.verdict import UntouchedCommit
from tests.support.reading.sample_project import sample_project
from tests.support.reading.views import trend_point

if TYPE_CHECKING:
    from service.ports.verdict import Point, SeriesWithPoints

GOLDEN = Path(__file__).parent / "golden" / "levels.json"
READING = sample_project()


def trend_of(*points: Point) -> SeriesWithPoints:
    return replace(READING.trends[0], points=points)


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
    assert f"since {points[1].revision[:10]}</b>" in figure["data"][1]["hovertext"][2]
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
    assert band[:7:2] == pytest.approx([100 * math.expm1(1.96 * 0.01 * math.sqrt(k)) for k in (1, 2, 3, 4)])
    assert band[1:7:2] == band[:6:2], "a level and its interval hold until the next commit"


def test_verdicts_keep_their_markers() -> None:
    points = [trend_point(0, 1.0), trend_point(1, 1.0, verdict=Verdict.SLOWER, ratio=0.9)]
    assert level_figure(trend_of(*points))["data"][1]["marker"]["symbol"] == ["circle", "triangle-down"]


@pytest.mark.parametrize("more", [{"parent": None}, {"error": None}, {"ratio": None}])
def test_without_pairs_against_parents_there_are_no_levels(more: dict[str, Any]) -> None:
    trend = trend_of(trend_point(0, 1.0, **more))
    assert not has_levels(trend)
    assert heights(level_figure(trend), "merged") == []


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
