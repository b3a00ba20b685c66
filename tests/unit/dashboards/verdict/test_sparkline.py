"""Lines of the last commits of a benchmark."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from dashboards.verdict.sparkline import HEIGHT, WIDTH, Sparkline, sparkline
from service.domain.verdict.trend.line import Step

START = datetime(2026, 1, 5, tzinfo=UTC)
FLOOR = 0.01


def steps(*ratios: float | None) -> list[Step]:
    """The steps from commit 0 to 1, from 1 to 2, and so on."""
    return [
        Step(f"{k + 1}", f"{k}", START + timedelta(hours=k), math.log(ratio) if ratio else None)
        for k, ratio in enumerate(ratios)
    ]


def drawn(*ratios: float | None, parent: str | None = None, value: float = 0.9) -> Sparkline:
    line = sparkline(steps(*ratios), parent, value, FLOOR)
    assert line is not None
    return line


def corners(line: Sparkline) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, _, y in (each.partition(",") for each in line.line.split())]


def test_the_value_is_drawn_at_the_level_of_its_parent_times_its_ratio() -> None:
    """The newest commit is 10 % up; the value's parent is the one before it."""
    line = drawn(1.0, 1.1, parent="1", value=1.1)
    assert line.y == corners(line)[-1][1]
    assert line.parent_y == corners(line)[0][1] > line.y


def test_a_value_with_an_unknown_parent_follows_the_last_commit() -> None:
    line = drawn(1.0, 1.1, parent="elsewhere", value=1.05)
    assert line.parent_y == corners(line)[-1][1] > line.y
    assert line.words == (
        "Against the last of them, the last 2 merged commits were between −9.1 % and ±0.00 %; this is +5.0 %"
    )


def test_a_level_holds_until_a_commit_changes_it() -> None:
    xs, ys = zip(*corners(drawn(1.0, 1.2, 1.0)), strict=True)
    assert xs == tuple(sorted(xs))
    assert len(set(ys)) == 2
    assert all(a == b or c == d for a, b, c, d in zip(xs, xs[1:], ys, ys[1:], strict=False))


def test_noise_within_the_floor_is_not_magnified() -> None:
    """The band in which nothing matters takes the whole drawing, and the line stays inside."""
    line = drawn(1.001, 0.999, parent="2", value=1.002)
    assert line.floor_height == pytest.approx(HEIGHT - 10, abs=0.2)
    ys = [y for _, y in corners(line)]
    assert max(ys) - min(ys) < line.floor_height / 8


def test_everything_stays_inside_the_drawing() -> None:
    for value in (1e-6, 0.5, 1.0, 1e6):
        line = drawn(*(1.0 + k / 100 for k in range(30)), parent="30", value=value)
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in corners(line))
        assert 3 <= line.y <= HEIGHT - 3
        assert line.x <= WIDTH - 3


def test_a_commit_that_was_not_measured_does_not_break_the_line() -> None:
    words = drawn(1.02, None, 1.0, parent="3").words
    assert "the last 3 merged commits were between −2.0 % and ±0.00 %" in words


def test_one_commit_is_worded_as_one() -> None:
    words = drawn(1.0, parent="1").words
    assert words == "Against the parent, the last merged commit was at ±0.00 %; this is −10.0 %"


@pytest.mark.parametrize("ratio", [None, math.nan, math.inf, 0.0])
def test_what_has_no_ratio_has_no_line(ratio: float | None) -> None:
    assert sparkline(steps(1.0), "1", ratio, FLOOR) is None


def test_a_benchmark_without_history_has_no_line() -> None:
    assert sparkline([], "1", 0.9, FLOOR) is None
