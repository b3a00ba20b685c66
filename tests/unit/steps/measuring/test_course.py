"""Choose which benchmarks get another pair, and write the lines about cost and noise."""

from __future__ import annotations

import random
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.building.spec import LOCAL, MorePairs
from service.domain.measuring.launch import Launch
from service.domain.measuring.listing import Listing
from service.domain.measuring.machine_time import MachineTime
from service.domain.values.identity import RunKind, Side
from service.steps.measuring.course import Course
from service.steps.measuring.launching import Launcher
from tests.support.building.build_host import Silence, memory_host, session_of, spec_of
from tests.unit.steps.measuring.test_measure import BASE, JOB, PATCH, Bench, measure_trees

if TYPE_CHECKING:
    from pathlib import Path

    from service.domain.building.spec import BuildSpec

SPEC = spec_of(JOB)
LOCALLY = replace(SPEC, instance=LOCAL)
SAME_PROGRAM = Listing("bench", ("BM_a",), ("BM_a",), is_same_program=True)
OTHER = Listing("bench", ("BM_a",), ("BM_a",))
WANTED = {"bench": ("BM_a",)}


def launches(pairs: int, spread: float = 0.3, seconds: float = 1.0) -> list[Launch]:
    """Pairs of one benchmark that change nothing and scatter."""
    draw = random.Random(7)  # noqa: S311 - repeatable on purpose
    return [
        Launch(
            pair, side, "bench", {"BM_a": {"cpu_time": draw.lognormvariate(0.0, spread)}}, {}, seconds=seconds
        )
        for pair in range(pairs)
        for side in Side
    ]


@pytest.mark.parametrize(
    ("spec", "listing", "pairs", "is_wanted"),
    [
        (LOCALLY, SAME_PROGRAM, 0, False),
        (LOCALLY, OTHER, 0, True),
        (SPEC, SAME_PROGRAM, 0, True),
        (SPEC, SAME_PROGRAM, 4, True),
        (SPEC, SAME_PROGRAM, 5, False),
        (SPEC, OTHER, 5, True),
        (replace(SPEC, longer=MorePairs("*", 40)), SAME_PROGRAM, 4, False),
        (replace(SPEC, kind=RunKind.CALIBRATION), OTHER, 20, True),
    ],
)
def test_an_identical_program_gets_pairs_only_as_evidence(
    spec: BuildSpec, listing: Listing, pairs: int, *, is_wanted: bool
) -> None:
    course = Course.of(spec, (listing,))

    assert course.look(launches(pairs), 600.0).benchmarks == (WANTED if is_wanted else {})


@pytest.mark.parametrize(
    ("spec", "slower", "building", "reserved"),
    [
        (replace(SPEC, is_time_asked=True), 0.05, 0.0, 126.0),
        (replace(SPEC, is_time_asked=True), 0.05, 100.0, 226.0),
        (replace(SPEC, is_time_asked=True), 0.05, 500.0, 300.0),
        (replace(SPEC, is_time_asked=True), 0.0, 100.0, 0.0),
        (SPEC, 0.05, 500.0, 0.0),
    ],
    ids=["measuring", "building", "no more than half", "nothing looks slower", "nobody waits"],
)
def test_the_minutes_of_a_person_keep_what_building_and_measuring_relinks_take(
    spec: BuildSpec, slower: float, building: float, reserved: float
) -> None:
    """Seven relinks launch both sides for a warm-up and eight pairs, a second each."""
    pairs = [
        replace(each, values={"BM_a": {"cpu_time": 1.0 + slower * (each.side is Side.PATCH)}})
        for each in launches(14)
    ]

    assert Course.of(spec, (OTHER,), building).look(pairs, 600.0).reserved == pytest.approx(reserved)


class TestPlace:
    def test_the_pace_so_far_tells_how_long_the_pairs_take(self) -> None:
        course = Course.of(SPEC, (OTHER,))
        last = course.base_pairs
        said = course.place(4, 4, MachineTime(3600.0, 240.0, 0.0), 4)
        assert said == f"pair 5 of at most {last}, at most about {last - 4} min more"

    def test_pairs_of_a_worker_that_died_do_not_make_the_pace_look_faster(self) -> None:
        course = Course.of(SPEC, (OTHER,))
        said = course.place(5, 4, MachineTime(3600.0, 120.0, 0.0), 1)
        assert said.endswith(f"repeated), at most about {2 * (course.base_pairs - 4)} min more")

    def test_no_more_than_the_machine_time_is_announced(self) -> None:
        course = Course.of(SPEC, (OTHER,))
        assert course.place(4, 4, MachineTime(600.0, 480.0, 0.0), 4).endswith(", at most about 2 min more")
        assert course.place(99, 99, MachineTime(600.0, 480.0, 0.0), 9) == "pair 100, at most 2 min more"

    @pytest.mark.parametrize(("elapsed", "added", "minutes"), [(480.0, 240.0, 12), (1200.0, 960.0, 20)])
    def test_minutes_are_those_that_pass_and_not_those_that_are_charged(
        self, elapsed: float, added: float, minutes: int
    ) -> None:
        """Half of the time of a slow patch is not charged; all of it takes at most four times the seconds."""
        course = Course.of(SPEC, (OTHER,))
        said = course.place(99, 99, MachineTime(600.0, elapsed, added), 9)
        assert said == f"pair 100, at most {minutes} min more"

    def test_before_the_first_pair_nobody_knows(self) -> None:
        course = Course.of(SPEC, (OTHER,))
        assert course.place(0, 0, MachineTime(600.0, 0.0, 0.0), 0) == f"pair 1 of at most {course.base_pairs}"


class TestOutlook:
    def test_a_loud_machine_is_named_with_the_least_detectable_change(self) -> None:
        course = Course.of(SPEC, (OTHER,))
        said = course.outlook(launches(course.decisive, 0.3), 600.0)

        assert said.startswith("pairs vary by ")
        assert "will hardly be found in the machine time; `benchgate doctor` reports" in said

    def test_a_quiet_machine_is_not(self) -> None:
        course = Course.of(SPEC, (OTHER,))

        assert course.outlook(launches(course.decisive, 0.005), 600.0) == ""

    def test_launches_that_take_no_time_say_nothing(self) -> None:
        course = Course.of(SPEC, (OTHER,))

        assert course.outlook(launches(course.decisive, 0.3, seconds=0.0), 600.0) == ""


class Notes(Silence):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)


def test_the_cost_of_a_pair_is_noted_once_and_kept_in_the_log(tmp_path: Path) -> None:
    bench, notes = Bench(tmp_path, BASE, PATCH), Notes()
    bench.sandbox.seconds = 24.0
    host = memory_host(bench.source, bench.sandbox, tmp_path)
    session = replace(session_of(host, JOB, bench.log), progress=notes)
    with ExitStack() as stack:
        trees = {side: stack.enter_context(bench._tree(side)) for side in Side}  # noqa: SLF001 - of a test
        measure_trees(Launcher(session, trees))

    (cost,) = notes.lines
    assert cost == (
        "a pair of launches takes 48 s: machine_time (10 min) is about 12 pairs, and 16 are needed to find a "
        "difference; raise machine_time in benchgate.yaml, or measure less in a launch"
    )
    assert cost.encode() in session.log.kept()
