"""Small charts of a family of benchmarks."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from dashboards.verdict import family_charts
from dashboards.verdict.family_charts import Chart, Charts, charts_of
from service.domain.verdict.inference.verdict import Verdict
from service.domain.verdict.trend.line import Step, join_unchanged, level_line
from service.ports.verdict import Family, SeriesWithSteps, UntouchedCommit
from tests.support.reading.views import series_view

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from service.domain.verdict.trend.line import LevelledLine

START = datetime(2026, 1, 5, tzinfo=UTC)
SAME, SLOWER, FASTER = Verdict.SAME, Verdict.SLOWER, Verdict.FASTER


def step(
    number: int, ratio: float | None = 1.0, verdict: Verdict | None = SAME, error: float = 0.001
) -> Step:
    """The commit of that number against the one before it."""
    moment = START + timedelta(days=number)
    log = None if ratio is None else math.log(ratio)
    return Step(str(number), str(number - 1), moment, log, None if ratio is None else error, 12, verdict)


def member(*steps: Step, name: str = "BM_Map/8", metric: str = "items_per_second") -> SeriesWithSteps:
    return SeriesWithSteps(series_view(1, name, metric=metric), steps)


def family(*members: SeriesWithSteps, untouched: Sequence[int] = ()) -> Family:
    """A family; the untouched commits have numbers, too."""
    commits = (UntouchedCommit(str(k), str(k - 1), START + timedelta(days=k)) for k in untouched)
    return Family("BM_Map", len(members), members, tuple(commits))


def drawn(*steps: Step, metric: str = "items_per_second", since: str = "") -> Chart:
    (chart,) = charts_of(family(member(*steps, metric=metric)), since).charts
    return chart


def heights(path: str) -> list[float]:
    return [float(each) for each in re.findall(r"(?:M\S+ |V)([\d.]+)", path)]


def zero_of(charts: Charts) -> float:
    return next(tick.y for tick in charts.ticks if tick.text == "0 %")


def test_a_level_holds_until_a_commit_changes_it() -> None:
    chart = drawn(step(1), step(2), step(3, 0.9, SLOWER), step(4))
    first, second = heights(chart.line)
    assert second > first, "fewer items per second are lower"
    assert re.fullmatch(rf"M{Chart.LEFT}.0 {first:g}H240.7V{second:g}H{Chart.RIGHT}.0", chart.line)
    assert [(mark.x, mark.y, mark.verdict, mark.is_up) for mark in chart.marks] == [
        (240.7, second, SLOWER, False)
    ]
    assert chart.last == "▼ slower 2026-01-08"
    assert chart.now.startswith("−10.0 % [−10.4, −9.6")
    assert chart.now.endswith(" since 0")
    assert chart.words == "4 commits between −10.0 % and ±0.00 %, 1 of them slower or faster"


def test_all_charts_have_the_same_axes() -> None:
    early, late = member(step(1), step(2)), member(step(3, 2.0, FASTER), step(5))
    found = charts_of(family(early, late))
    flat, risen = (heights(chart.line) for chart in found.charts)
    assert flat == [zero_of(found)]
    assert all(height < zero_of(found) for height in risen)
    assert found.charts[0].line.startswith(f"M{Chart.LEFT}.0 ")
    assert found.charts[1].line.endswith(f"H{Chart.RIGHT}.0")
    assert (found.begin, found.end) == (START + timedelta(days=1), START + timedelta(days=5))


def test_a_band_is_around_its_line_and_closed() -> None:
    chart = drawn(step(1), step(2, 1.02), step(3, 1.01))
    assert chart.band.endswith(f"H{Chart.LEFT}.0Z")
    assert min(heights(chart.band)) < min(heights(chart.line))
    assert max(heights(chart.band)) > max(heights(chart.line))


def test_one_wide_interval_does_not_make_all_lines_flat() -> None:
    noisy, quiet = member(step(1), step(2, error=0.9)), member(step(1), step(2, 1.05, FASTER))
    found = charts_of(family(noisy, quiet))
    assert found.is_cut
    assert {Chart.TOP, Chart.BOTTOM} <= {*heights(found.charts[0].band)}
    before, after = heights(found.charts[1].line)
    assert before - after > (Chart.BOTTOM - Chart.TOP) / 2
    assert not charts_of(family(quiet)).is_cut


def test_behind_a_gap_another_line_begins_and_its_commit_is_named() -> None:
    chart = drawn(step(1, 1.1), step(2, None), step(3), step(4))
    assert chart.line.count("M") == chart.band.count("Z") == 2
    assert chart.now.endswith(" since 2")
    assert charts_of(family(member(step(1)), member(step(1), step(2, None), step(3)))).has_gaps


def test_changes_are_since_the_chosen_commit() -> None:
    steps = [step(1), step(2, 1.1), step(3, 1.1)]
    assert drawn(*steps, since="2").now.startswith("+10.0 % [")
    assert drawn(*steps, since="2").now.endswith(" since 2")
    assert drawn(*steps, since="9").now.startswith("+21.0 % [")


@pytest.mark.parametrize(("ratio", "is_up"), [(1.2, True), (0.8, False)])
def test_a_triangle_of_bytes_points_to_where_they_moved(ratio: float, is_up: bool) -> None:  # noqa: FBT001
    (mark,) = drawn(step(1, ratio, SLOWER), metric="bytes").marks
    assert mark.is_up == is_up
    assert drawn(step(1, ratio, SLOWER), metric="bytes").last.startswith("▲ worse" if is_up else "▼ worse")


def test_commits_that_touch_nothing_join_the_line_and_are_not_counted() -> None:
    members = member(step(1), step(5)), member(step(5), step(6)), member(step(3))
    found = charts_of(family(*members, untouched=[2, 3, 4]))
    assert [chart.line.count("M") for chart in found.charts] == [1, 1, 1]
    assert [chart.words[:10] for chart in found.charts] == ["2 commits ", "2 commits ", "1 commit b"]
    assert [chart.now[-2:] for chart in found.charts] == [" 0", " 4", " 2"]
    assert not found.has_gaps


def test_changes_may_be_since_a_commit_that_touches_nothing() -> None:
    a_family = family(member(step(1, 1.1), step(5, 1.1)), untouched=[2, 3, 4])
    assert charts_of(a_family, since="3").charts[0].now.endswith(" since 3")


def test_a_few_steps_join_the_commits_of_each_member(monkeypatch: pytest.MonkeyPatch) -> None:
    levelled, read = [], []

    def joined(steps: Iterable[Step], kept: Collection[str]) -> Iterator[Step]:
        of_run = [*steps]
        read.append(len(of_run))
        return join_unchanged(of_run, kept)

    def counted_line(steps: Sequence[Step], since: str, anchors: Sequence[Step]) -> LevelledLine:
        levelled.append(len(steps))
        return level_line(steps, since, anchors)

    monkeypatch.setattr(family_charts, "level_line", counted_line)
    monkeypatch.setattr(family_charts, "join_unchanged", joined)
    together = [range(1, 3000, 100), range(1501, 3000, 100)]
    alternately = [range(first, 3000, 100) for first in (1, 26, 51, 76)]
    for measured in (together, alternately):
        members = [member(*(step(k) for k in each)) for each in measured]
        untouched = {*range(1, 3000)}.difference(*measured)
        charts_of(family(*members, untouched=sorted(untouched)), since="1777")
    assert levelled[:2] == [30 + 30 + 1, 15 + 15 + 1], "one between two measured commits, and the chosen one"
    assert max(read[1:3]) == 31, "all of them are read once"
    assert all(count <= 30 + 60 + 2 for count in levelled[2:]), "one on each side of a measured commit"


def test_a_commit_that_was_set_back_is_not_the_newest_one() -> None:
    steps = [
        step(1),
        step(2, 1.5, FASTER),
        Step("other", "1", START + timedelta(days=3), 0.0, 0.001, 9, SAME),
    ]
    assert drawn(*steps).now.startswith("±0.00 %")
    assert drawn(*steps).marks == ()


def test_a_member_that_was_not_measured_has_no_line() -> None:
    empty = Chart(member().series)
    assert charts_of(family(member())) == Charts((empty,), (), None, None)
    assert charts_of(family(member(), member(step(1)), untouched=[2])).charts[0] == empty


def test_a_long_line_is_thinned_and_keeps_what_is_slower_and_its_extremes() -> None:
    steps = [step(k, 1.001 if k % 2 else 1 / 1.001) for k in range(1, 900)]
    chart = drawn(*steps, step(900, 0.9, SLOWER), *(step(k) for k in range(901, 1800)))
    assert len(heights(chart.line)) < 100
    assert len(chart.marks) == 1
    assert chart.words.startswith("1799 commits between −9.9 % and +0.10 %")


@pytest.mark.parametrize("ratio", [1e-300, 0.05, 0.3, 0.995, 1.0, 1.004, 1.013, 1.26, 1.9, 2.6, 30.0, 1e300])
def test_a_scale_has_zero_and_a_few_round_labels(ratio: float) -> None:
    found = charts_of(family(member(step(1), step(2, ratio))))
    texts = [tick.text for tick in found.ticks]
    assert "0 %" in texts
    assert 2 <= len(texts) <= 7
    assert len({*texts}) == len(texts)
    assert all(re.fullmatch(r"0 %|[+−][\d.]{3,5} %|×[\d.e+]{1,8}", text) for text in texts), texts
    assert all(Chart.TOP <= tick.y <= Chart.BOTTOM for tick in found.ticks)


def test_half_and_twice_are_equally_far_from_zero_beside_a_far_larger_change() -> None:
    members = [member(step(1), step(2, ratio)) for ratio in (0.5, 2.0, 24.0)]
    found = charts_of(family(*members))
    half, twice, huge = (heights(chart.line)[-1] for chart in found.charts)
    assert half - zero_of(found) == pytest.approx(zero_of(found) - twice, abs=0.2)
    assert half - zero_of(found) > (Chart.BOTTOM - Chart.TOP) / 10
    assert [tick.text for tick in found.ticks] == ["−50.0 %", "0 %", "×2", "×4", "×8", "×16"]
    assert huge == pytest.approx(Chart.TOP, abs=0.2)


def test_ratios_that_no_float_holds_together_are_drawn() -> None:
    chart = drawn(*(step(k, 1e300, FASTER) for k in range(1, 4)))
    assert chart.words.startswith("3 commits between ×1.0e+300 and ×")
    assert len({*heights(chart.line)}) == 3


def test_the_last_slower_commit_leads_to_its_run() -> None:
    steps = [replace(step(k, 0.9, SLOWER if k < 3 else SAME), run_id=100 + k) for k in range(1, 5)]
    assert drawn(*steps).last_run == 102
    assert drawn(steps[3]).last_run is None
