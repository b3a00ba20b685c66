"""Imported values on the page of a series."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from dashboards.verdict.imported_values import proposals_of, with_imported
from dashboards.verdict.trend_figure import figure_of
from dashboards.verdict.trend_view import TrendView
from service.domain.verdict.trend.imported import ImportedValue
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.sample_project import sample_project
from tests.support.web import build_app, call

if TYPE_CHECKING:
    from service.ports.verdict import SeriesWithPoints

READING = sample_project()
VALUES = TrendView(shown="values")
_START = datetime(2025, 3, 1, tzinfo=UTC)


def _imported(count: int = 80, step_at: int = 40) -> SeriesWithPoints:
    values = (
        ImportedValue(f"{k:010x}{k:030x}", _START + timedelta(days=k), 2.0 if k < step_at else 1.84)
        for k in range(count)
    )
    return replace(READING.trends[0], points=(), imported=tuple(values))


def test_imported_values_are_hollow_and_grey_and_lead_nowhere() -> None:
    trend = _imported()
    trace = with_imported(figure_of([trend], VALUES), trend)["data"][-1]
    assert (trace["name"], trace["marker"]["symbol"]) == ("imported", "diamond-open")
    assert len(trace["y"]) == 80
    assert "customdata" not in trace
    assert "<br>imported<br>2025-03-01 00:00 UTC" in trace["hovertext"][0]


def test_a_proposed_change_has_a_line_and_a_sentence_with_the_commits_on_both_sides() -> None:
    trend = _imported()
    (shape,) = with_imported(figure_of([trend], VALUES), trend)["layout"]["shapes"]
    assert (shape["x0"], shape["line"]["dash"]) == ("2025-04-10T00:00:00Z", "dash")
    (proposal,) = proposals_of(trend)
    assert (proposal.before.commit, proposal.value.commit) == (f"{39:010x}{39:030x}", f"{40:010x}{40:030x}")
    assert proposal.text == "looks like −8.0 % items/s [−8.0, −8.0], not confirmed"


def test_imported_values_are_inside_the_scale_of_merged_commits() -> None:
    trend = replace(_imported(), points=READING.trend(1, 200).points)
    drawn = figure_of([trend], VALUES)
    drawn["layout"]["yaxis"]["range"] = [1.9, 2.1]
    assert with_imported(drawn, trend)["layout"]["yaxis"]["range"] == [1.84, 2.1]


def test_on_a_logarithmic_axis_the_scale_is_of_powers_of_ten() -> None:
    trend = replace(_imported(), points=READING.trend(1, 200).points)
    drawn = figure_of([trend], replace(VALUES, axis="log"))
    drawn["layout"]["yaxis"]["range"] = [0.28, 0.3]
    low, high = with_imported(drawn, trend)["layout"]["yaxis"]["range"]
    assert (round(10**low, 2), high) == (1.84, math.log10(2.0))


def test_many_imported_values_are_listed_up_to_a_limit_and_a_change_is_sought_among_all() -> None:
    reading = FakeReading(trends=[_imported(400, step_at=100)])
    page = call(build_app(reading), "GET", "/trends?series=1").text
    assert "200 points as a table" in page
    assert "looks like −8.0 %" in page


def test_a_figure_without_imported_values_stays_as_it_is() -> None:
    trend = READING.trend(1, 12)
    assert with_imported(figure_of([trend], VALUES), trend) == figure_of([trend], VALUES)


def test_a_series_with_imported_values_only_has_a_page() -> None:
    reading = FakeReading(trends=[_imported()])
    page = call(build_app(reading), "GET", "/trends?series=1").text
    assert f"between <code>{39:010x}</code> and <code>{40:010x}</code> of" in page
    assert "looks like −8.0 %" in page
    assert "80 points as a table" in page
    figure = call(build_app(reading), "GET", "/trends/1/figure.json").json()
    assert figure["data"][-1]["name"] == "imported"
