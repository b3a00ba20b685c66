from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dashboards.verdict.trend_cards import page_of
from dashboards.verdict.trend_figure import escaped, figure_of
from dashboards.verdict.trend_view import TrendView
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.verdict import Verdict
from tests.support.reading.sample_project import HOSTILE_NAMES, sample_project
from tests.support.reading.views import ENVIRONMENT, trend_point

if TYPE_CHECKING:
    from service.ports.verdict import SeriesWithPoints

GOLDEN = Path(__file__).parent / "golden"
READING = sample_project()


def trend_figure(trend: SeriesWithPoints) -> dict[str, Any]:
    return figure_of([trend], TrendView(shown="values"))


def test_the_trend_is_drawn_as_recorded() -> None:
    """Set BENCHGATE_UPDATE_GOLDEN=1 to record a wanted change."""
    trend = READING.trend(1, 12)
    text = json.dumps(trend_figure(trend), indent=1, ensure_ascii=False) + "\n"
    golden = GOLDEN / "trend.json"
    if os.environ.get("BENCHGATE_UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_merged_commits_are_filled_and_patch_sets_hollow() -> None:
    merged, proposed, *_ = trend_figure(READING.trend(1, 200))["data"]
    assert sum(y is not None for y in merged["y"]) == 60
    assert len(proposed["y"]) == 9
    assert (merged["marker"]["symbol"], proposed["marker"]["symbol"]) == ("circle", "circle-open")


def test_a_change_of_environment_begins_an_epoch_with_a_line_and_a_gap() -> None:
    points = tuple(trend_point(k, 1.0, environment_id=1 if k == 0 else 2) for k in range(3))
    figure = trend_figure(replace(READING.trends[0], points=points))
    assert figure["data"][0]["y"] == [1.0, None, 1.0, 1.0]
    assert [shape["x0"] for shape in figure["layout"]["shapes"]] == [figure["data"][0]["x"][2]]


def test_machines_that_take_turns_begin_one_epoch_each() -> None:
    points = tuple(
        trend_point(k, 1.0, environment_id=environment) for k, environment in enumerate([1, 2, 1, 2, 3])
    )
    figure = trend_figure(replace(READING.trends[0], points=points))
    moments = [point.moment.timestamp() * 1000 for point in points]
    assert [shape["x0"] for shape in figure["layout"]["shapes"]] == [moments[1], moments[4]]


def test_an_epoch_is_named_by_what_its_machine_changed() -> None:
    other = {**ENVIRONMENT, "kernel": "6.5.0-1-amd64", "c++": "g++ <13>"}
    machines = {1: "perf-01", 2: "perf-02", 3: "perf-01"}
    points = tuple(trend_point(k, 1.0, environment_id=k + 1, machine=machines[k + 1]) for k in range(3))
    facts = {1: ENVIRONMENT, 2: ENVIRONMENT, 3: other}
    figure = trend_figure(replace(READING.trends[0], points=points, environments=facts))
    first_of_its_machine, changed = figure["layout"]["annotations"]
    assert first_of_its_machine["text"] == "new environment"
    assert changed["text"] == "kernel 6.1.0-28-amd64 → 6.5.0-1-amd64"
    assert changed["hovertext"] == changed["text"]


def test_what_changed_is_escaped_and_only_its_beginning_is_drawn() -> None:
    facts = {1: {"c++": "g++ <b>12", "kernel": "6.1"}, 2: {"c++": "g++ <b>13" + "x" * 99, "kernel": "6.2"}}
    points = tuple(trend_point(k, 1.0, environment_id=k + 1) for k in range(2))
    figure = trend_figure(replace(READING.trends[0], points=points, environments=facts))
    (changed,) = figure["layout"]["annotations"]
    assert changed["text"] == "kernel 6.1 → 6.2 and 1 more"
    assert "C++ compiler g++ &lt;b&gt;12 → g++ &lt;b&gt;13xxx" in changed["hovertext"]


def test_a_commit_that_a_backfill_measured_later_undoes_no_change() -> None:
    facts = {1: {"kernel": "6.1"}, 2: {"kernel": "6.5"}}
    older, newer, late = (trend_point(k, 1.0, environment_id=1) for k in (0, 1, 9))
    filled = replace(older, environment_id=2, measured_at=late.measured_at, committed_at=older.measured_at)
    figure = trend_figure(replace(READING.trends[0], points=(filled, newer), environments=facts))
    assert [each["text"] for each in figure["layout"]["annotations"]] == ["new environment"]


def test_a_long_change_is_named_by_its_label() -> None:
    facts = {1: {"c++": "g++ (Debian 12.2.0-14) 12.2.0"}, 2: {"c++": "g++ (Debian 14.2.0-19) 14.2.0"}}
    points = tuple(trend_point(k, 1.0, environment_id=k + 1) for k in range(2))
    figure = trend_figure(replace(READING.trends[0], points=points, environments=facts))
    (changed,) = figure["layout"]["annotations"]
    assert changed["text"] == "C++ compiler changed"
    assert "12.2.0 → g++ (Debian 14.2.0-19)" in changed["hovertext"]


def test_the_legend_has_the_plain_markers_whatever_the_first_verdict_is() -> None:
    first = trend_point(0, 1.0, verdict=Verdict.SLOWER, ratio=0.9)
    drawn = trend_figure(replace(READING.trends[0], points=(first,)))["data"]
    named = [trace for trace in drawn if trace.get("showlegend", True)]
    assert [(trace["name"], trace["marker"]["symbol"]) for trace in named] == [
        ("merged", "circle"),
        ("patch sets", "circle-open"),
    ]


def test_a_hover_card_names_the_unit_once() -> None:
    point = trend_point(0, 7.26e8)
    (card,) = trend_figure(replace(READING.trends[0], points=(point,)))["cards"]
    assert card["value"] == "726 M items/s"


def test_more_bytes_point_up_and_are_called_worse() -> None:
    point = trend_point(0, 1.0, verdict=Verdict.SLOWER, ratio=1.172)
    series = replace(READING.trends[0].series, metric="max_bytes_used", unit="B")
    figure = trend_figure(replace(READING.trends[0], series=series, points=(point,)))
    assert figure["data"][-1]["marker"]["symbol"] == ["triangle-up"]
    assert "worse +17.2 %" in figure["cards"][0]["verdict"]


def test_a_point_without_a_value_is_not_drawn() -> None:
    figure = trend_figure(replace(READING.trends[0], points=(trend_point(0, 1.0, patch=None),)))
    assert figure["data"][0]["y"] == []


def with_patch_set(merged: int, patch: float) -> dict[str, Any]:
    """Draw ``merged`` commits of 1.0 and 1.1 in turn, and a patch set."""
    points = [trend_point(k, 1.0, patch=1.0 + k % 2 / 10) for k in range(merged)]
    proposed = trend_point(merged, 1.0, patch=patch, kind=RunKind.CHECK)
    layout: dict[str, Any] = trend_figure(replace(READING.trends[0], points=(*points, proposed)))["layout"]
    return layout


def test_a_patch_set_that_would_flatten_the_line_lies_beyond_the_scale() -> None:
    layout = with_patch_set(8, 100.0)
    assert layout["yaxis"]["range"] == pytest.approx([0.9875, 1.1125])
    assert [each["text"] for each in layout["annotations"]] == [
        "1 patch set is beyond this scale: double-click"
    ]


@pytest.mark.parametrize(("merged", "patch"), [(8, 3.0), (8, 0.4), (7, 100.0)])
def test_a_patch_set_near_the_line_or_beside_few_commits_is_shown(merged: int, patch: float) -> None:
    layout = with_patch_set(merged, patch)
    assert "range" not in layout["yaxis"]
    assert layout["annotations"] == []


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_text_of_a_patch_set_reaches_plotly_unescaped(name: str) -> None:
    point = trend_point(0, 1.0, subject=name, author=name, machine=name, revision=name)
    series = replace(READING.trends[0].series, metric=name, benchmark=name)
    figure = trend_figure(replace(READING.trends[0], series=series, points=(point,)))
    assert "<" not in figure["layout"]["yaxis"]["title"]["text"]
    together = figure_of([READING.trends[1], replace(READING.trends[0], series=series)], TrendView())
    assert not any("<" in trace["name"] for trace in together["data"])
    assert "\u202e" not in json.dumps([figure, together], ensure_ascii=False)


def test_a_point_leads_to_its_change_else_to_its_run_or_build() -> None:
    point = trend_point(7, 1.0)
    assert page_of(point) == "/changes/507"
    assert page_of(replace(point, kind=RunKind.CHECK)) == "/changes/507/2"
    assert page_of(replace(point, change_address=None)) == "/runs/1007"
    assert page_of(replace(point, change_address=None, run_id=None)) == "/job/kv-engine-cv-perf/107/"


def test_escaped_text_is_short_and_reads_as_it_was() -> None:
    assert escaped("a<b>&amp;") == "a&lt;b&gt;&amp;amp;"
    assert len(escaped("x" * 10_000)) == 160
