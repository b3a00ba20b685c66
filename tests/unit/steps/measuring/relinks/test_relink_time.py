"""Measure relinks within the machine time that is left, and say how long they take."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.runs.vote import Outcome
from service.domain.verdict.comparison.link_layout import PAIRS
from service.domain.wording.build_causes import layout_not_checked
from service.domain.wording.outlook import relinks_cut_short
from tests.support.building.build_host import MemoryClaimed
from tests.unit.steps.measuring.relinks.test_confirm_layout import SEVEN, Listener, Machine, OneQuickLink

if TYPE_CHECKING:
    from pathlib import Path


def test_progress_says_how_long_the_relinks_take_with_building(tmp_path: Path) -> None:
    """Building comes on top of the machine time, so nobody else says it; a batch is built at once."""
    machine = Machine(tmp_path, policy="{machine_time: 10m}")
    machine.sandbox = OneQuickLink(seconds=1.0, build_seconds=300.0)
    machine.host = replace(machine.host, sandbox=machine.sandbox, clock=lambda: machine.sandbox.clock)
    said: list[str] = []
    machine.work(Listener(said))

    linking = [text for text in said if "linking again" in text]
    assert linking[0].endswith("relink 1 of up to 12, linking again, about 12 min for 7")
    assert linking[1].endswith("relink 2 of up to 12, linking again, about 2 min for 7")
    assert linking[7].endswith("relink 8 of up to 12, linking again, about 11 min for 12")


def test_building_does_not_count_as_machine_time(tmp_path: Path) -> None:
    machine = Machine(tmp_path, policy="{machine_time: 10m}")
    machine.sandbox.seconds = 5.0  # of a launch: 500 s for all pairs on relinks
    machine.sandbox.build_seconds = 300.0
    report = machine.work()

    assert not any("layout" in cause for cause in report.causes)
    assert len(machine.confirming) == PAIRS * len(SEVEN)


def test_too_little_machine_time_for_seven_relinks_ends_it_after_the_first(tmp_path: Path) -> None:
    """14 pairs of 40 s are measured in any case; after them, one more machine time is allowed."""
    machine = Machine(tmp_path, policy="{machine_time: 10m}")
    machine.sandbox.seconds = 20.0  # of a launch
    report = machine.work()

    assert report.causes[0] == layout_not_checked(relinks_cut_short(7, 7 * 320.0, 0.0, is_asked=False))
    assert len(machine.confirming) == PAIRS
    assert report.seconds["confirm"] == 320.0


def test_pairs_and_relinks_together_take_no_more_than_a_person_chose(tmp_path: Path) -> None:
    machine = Machine(tmp_path, policy="{machine_time: 10m}")
    machine.spec = replace(machine.spec, is_time_asked=True)
    machine.claimed = MemoryClaimed(spec=machine.spec.to_mapping())
    machine.sandbox.seconds = 10.0
    report = machine.work()

    assert report.causes[0] == layout_not_checked(relinks_cut_short(7, 7 * 160.0, 160.0, is_asked=True))
    assert report.seconds["measure"] + report.seconds["confirm"] <= 600.0


def test_the_last_relinks_are_measured_as_long_as_any_time_is_left(tmp_path: Path) -> None:
    """The twelfth takes 16 s, and 14 are left."""
    machine = Machine(tmp_path, policy="{machine_time: 190s}")
    machine.sandbox = OneQuickLink(seconds=1.0)
    machine.host = replace(machine.host, sandbox=machine.sandbox, clock=lambda: machine.sandbox.clock)
    machine.work()

    assert machine.judge().judgement.outcome is Outcome.SLOWER


def asked(tmp_path: Path, build_seconds: float, machine_time: str = "10m") -> Machine:
    """Let a person choose the machine time."""
    machine = Machine(tmp_path, policy=f"{{machine_time: {machine_time}}}")
    machine.spec = replace(machine.spec, is_time_asked=True)
    machine.claimed = MemoryClaimed(spec=machine.spec.to_mapping())
    machine.sandbox.build_seconds = build_seconds
    return machine


def test_the_minutes_that_a_person_chose_contain_building_relinks(tmp_path: Path) -> None:
    machine = asked(tmp_path, build_seconds=100.0)
    machine.sandbox.seconds = 1.0
    report = machine.work()

    assert machine.judge().judgement.outcome is Outcome.SLOWER
    assert report.seconds["confirm"] > 200.0
    assert report.seconds["measure"] + report.seconds["confirm"] <= 600.0


def test_nothing_is_announced_if_the_pairs_used_up_the_minutes(tmp_path: Path) -> None:
    machine, said = asked(tmp_path, build_seconds=1.0, machine_time="28s"), list[str]()
    machine.sandbox.seconds = 1.0
    report = machine.work(Listener(said))

    assert "before 7 relinked programs" in report.causes[0]
    assert not any("linking again" in text for text in said)


def test_building_relinks_ends_with_the_minutes_that_a_person_chose(tmp_path: Path) -> None:
    machine = asked(tmp_path, build_seconds=400.0)
    machine.sandbox.seconds = 1.0
    report = machine.work()

    assert "before 7 relinked programs, which take about 15 min: raise `--minutes`" in report.causes[0]
    assert machine.judge().judgement.outcome is Outcome.UNDECIDED_WITHHELD
    assert not machine.confirming
