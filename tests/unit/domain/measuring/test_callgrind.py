from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.callgrind import MAX_LOOPS, Trial, trials
from service.domain.values.errors import BadResults

SAMPLES = Path(__file__).parents[3] / "samples" / "callgrind"
DUMPS = (SAMPLES / "v3.19.0_tiny.out").read_bytes()
LOG = (SAMPLES / "v3.19.0_tiny.log").read_bytes()


def part(total: str = "5", *, trigger: str = "--dump-before=benchmark::State::FinishKeepRunning()") -> str:
    return (
        f"part: 1\ndesc: Trigger: {trigger}\nevents: Ir\nsummary: 1\n\nfn=(1) main\n0 5\n\ntotals: {total}\n"
    )


def dumps(*parts: str) -> bytes:
    return "".join(["# callgrind format\n", *parts]).encode()


def loops(dumps: bytes, count: int = 1) -> list[int]:
    """The instructions of some timed loops."""
    return [each.instructions for each in trials(dumps, b"Running BM for 1\n" * count, "BM")]


def test_a_recorded_launch_gives_each_trial_with_its_iterations() -> None:
    found = trials(DUMPS, LOG, "BM_Tiny")
    assert [each.iterations for each in found] == [1, 10, 100, 1000, 10000, 26035]
    assert found[2] == Trial(100, 62853)
    # Each further iteration costs the same to the instruction.
    steps = {
        (longer.instructions - shorter.instructions) / (longer.iterations - shorter.iterations)
        for shorter, longer in pairwise(found[1:])
    }
    assert steps == {626.0}


def test_costs_of_the_end_of_the_program_belong_to_no_loop() -> None:
    assert loops(dumps(part("7"), part("9", trigger="Program termination"))) == [7]


def test_a_truncated_part_is_left_out() -> None:
    whole = dumps(part("7"), part("9"))
    assert loops(whole[: whole.rindex(b"totals")]) == [7]


@pytest.mark.parametrize("total", ["", "-1", "5 5", "9" * 19, "0x5", "1e9", "٥"])
def test_an_invalid_total_is_left_out(total: str) -> None:
    with pytest.raises(BadResults, match="no timed loop was found"):
        loops(dumps(part(total)))


def test_a_total_is_taken_once() -> None:
    assert loops(dumps(part("7\ntotals: 8"))) == [7]


def test_events_other_than_instructions_are_refused() -> None:
    with pytest.raises(BadResults, match="something else than instructions"):
        loops(dumps(part()).replace(b"events: Ir", b"events: Ir Dr Dw"))


def test_more_loops_than_a_benchmark_has_are_refused() -> None:
    with pytest.raises(BadResults, match="more than 10000 timed loops"):
        loops(dumps(*[part()] * (MAX_LOOPS + 1)))


def test_no_dumps_say_what_may_be_the_cause() -> None:
    with pytest.raises(BadResults, match="stripped, or a script"):
        trials(b"", LOG, "BM_Tiny")


@pytest.mark.parametrize(
    "log", [b"", LOG[: LOG.rindex(b"26035")], LOG + b"-- LOG(2): Running BM_Tiny for 5\n"]
)
def test_a_log_that_does_not_fit_the_dumps_is_refused(log: bytes) -> None:
    with pytest.raises(BadResults, match="6 timed loops, but the library's log names"):
        trials(DUMPS, log, "BM_Tiny")


def test_a_loop_without_iterations_is_refused() -> None:
    with pytest.raises(BadResults, match="names"):
        trials(dumps(part()), b"Running BM for 0\n", "BM")


@given(st.binary(max_size=300), st.binary(max_size=100), st.text(max_size=10))
def test_any_output_of_a_program_is_read_or_refused(middle: bytes, log: bytes, name: str) -> None:
    try:
        found = trials(dumps(part()) + middle, log, name)
    except BadResults:
        return
    assert all(each.iterations > 0 and each.instructions >= 0 for each in found)
