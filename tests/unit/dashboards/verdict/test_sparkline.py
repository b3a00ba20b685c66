"""Lines of the last commits of a benchmark."""

from __future__ import annotations

import math
import random
import re
from datetime import UTC, datetime, timedelta

import pytest

from dashboards.verdict.sparkline import Sparkline, sparkline
from service.domain.verdict.inference.verdict import Verdict
from service.domain.verdict.trend.line import Step
from tests.support.reading.views import comparison

START = datetime(2026, 1, 5, tzinfo=UTC)
FLOOR = 0.01
SAME, UNDECIDED = (1.001, Verdict.SAME), (0.97, Verdict.UNDECIDED)
Change = tuple[float | None, Verdict]


def step(parent: object, commit: object, hour: int, change: Change) -> Step:
    ratio, verdict = change
    log = math.log(ratio) if ratio else None
    return Step(str(commit), str(parent), START + timedelta(hours=hour), log, verdict=verdict)


def steps(*changes: Change) -> list[Step]:
    """The steps from commit 0 to 1, from 1 to 2, and so on."""
    return [step(k, k + 1, k, change) for k, change in enumerate(changes)]


def line_of(made: list[Step], parent: str, ratio: float | None = 0.9, metric: str = "") -> Sparkline | None:
    more = {"metric": metric} if metric else {}
    return sparkline(made, comparison(1, "BM", ratio, Verdict.SLOWER, **more), parent, FLOOR)


def drawn(made: list[Step], parent: str, ratio: float = 0.9, metric: str = "") -> Sparkline:
    line = line_of(made, parent, ratio, metric)
    assert line is not None
    return line


def heights(line: Sparkline) -> list[float]:
    """The levels of a path in their order, each once."""
    return [float(each) for each in re.findall(r"(?:M\S+ |V)(\S+)", line.path)]


def test_a_commit_that_got_faster_is_one_step_up() -> None:
    line = drawn(steps(SAME, SAME, (1.2, Verdict.FASTER), UNDECIDED, SAME), "5", 1.0)
    before, after = heights(line)
    assert after < before
    assert line.y == line.parent_y == after
    assert line.words == (
        "Of the last 5 measured commits, 0 were slower and 1 faster: by +20.0 %. This one: ±0.00 %"
    )


def test_noise_of_which_nothing_was_decided_is_a_flat_line() -> None:
    draw = random.Random(7)  # noqa: S311 - repeatable on purpose
    noise = [
        (draw.lognormvariate(0.0, 0.02), draw.choice([Verdict.SAME, Verdict.UNDECIDED])) for _ in range(30)
    ]
    line = drawn(steps(*noise), "30")
    assert len(heights(line)) == 1
    assert line.words == "Of the last 30 measured commits, 0 were slower and 0 faster. This one: −10.0 %"


def test_the_largest_change_is_named() -> None:
    made = steps((0.95, Verdict.SLOWER), (0.8, Verdict.SLOWER), (1.1, Verdict.FASTER))
    assert drawn(made, "3").words == (
        "Of the last 3 measured commits, 2 were slower and 1 faster: at most by −20.0 %. This one: −10.0 %"
    )
    heap = drawn(steps((1.3, Verdict.SLOWER)), "1", 1.2, "max_bytes_used")
    assert heap.words == "Of one measured commit, 1 was worse and 0 better: by +30.0 %. This one: +20.0 %"


def test_of_a_commit_that_was_measured_again_the_newest_verdict_counts_once() -> None:
    made = [*steps((0.8, Verdict.SLOWER), SAME), step(0, 1, 9, SAME)]
    line = drawn(made, "2")
    assert len(heights(line)) == 1
    assert line.words.startswith("Of the last 2 measured commits, 0 were slower")


def test_a_commit_that_was_not_measured_is_a_gap() -> None:
    made = steps((0.8, Verdict.SLOWER), (None, Verdict.BROKEN), SAME)
    line = drawn(made, "3")
    assert line.path.count("M") == 2
    assert heights(line)[-1] == heights(line)[-2]
    assert line.words.startswith("Of the last 2 measured commits, 1 was slower and 0 faster: by −20.0 %.")
    assert drawn([*made[:1], *made[2:]], "3").path.count("M") == 2


def test_an_identical_program_is_no_gap() -> None:
    assert drawn(steps((None, Verdict.SAME), SAME), "2").path.count("M") == 1


def test_a_commit_that_was_set_back_is_left_out() -> None:
    """Also if it was measured last."""
    made = [step("a", "b", 1, (0.5, Verdict.SLOWER)), step("a", "c", 2, SAME), step("a", "b", 3, UNDECIDED)]
    line = drawn(made, "c")
    assert len(heights(line)) == 1
    assert line.words == "Of one measured commit, 0 were slower and 0 faster. This one: −10.0 %"
    assert drawn(made, "b").y is None


def test_the_value_is_drawn_at_the_level_of_its_parent_times_its_ratio() -> None:
    """The newest commit is 10 % up; the value's parent is the one before it."""
    line = drawn(steps(SAME, (1.1, Verdict.FASTER)), "1", 1.1)
    low, high = heights(line)
    assert (line.parent_y, line.y) == (low, high)


def test_a_value_whose_parent_is_no_commit_of_the_line_has_no_place() -> None:
    line = drawn(steps(SAME, (1.1, Verdict.FASTER)), "elsewhere")
    assert (line.parent_y, line.y) == (None, None)
    assert line.words.endswith("1 faster: by +10.0 %. This one's parent is not among them")


def test_everything_stays_inside_the_drawing() -> None:
    for ratio in (1e-6, 0.5, 1.0, 1e6):
        line = drawn(steps(*((1.0 + k / 100, Verdict.FASTER) for k in range(30))), "30", ratio)
        assert line.y is not None
        assert all(3 <= y <= Sparkline.HEIGHT - 3 for y in (*heights(line), line.y))
        assert all(0 <= float(x) <= Sparkline.X for x in re.findall(r"[MH](\S+)", line.path))


@pytest.mark.parametrize("ratio", [None, math.nan, math.inf, 0.0])
def test_what_has_no_ratio_has_no_line(ratio: float | None) -> None:
    assert line_of(steps(SAME), "1", ratio) is None


@pytest.mark.parametrize("made", [[], steps((None, Verdict.BROKEN), (None, Verdict.NEW))])
def test_a_benchmark_that_was_never_measured_has_no_line(made: list[Step]) -> None:
    assert line_of(made, "1") is None
