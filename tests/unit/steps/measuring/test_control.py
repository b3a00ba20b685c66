"""Measure the parent against itself where a slow-down is about to vote −1."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

from service.domain.measuring.launch import ITSELF
from service.domain.measuring.launch_order import side_order
from service.domain.measuring.pair_record import decode
from service.domain.runs.judge_build import judge_measured
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.reasons import ReasonKind
from tests.support.building.build_host import MemorySandbox
from tests.unit.steps.measuring.relinks.test_confirm_layout import BASE, PATCH, Listener, Machine
from tests.unit.steps.measuring.test_measure import Killed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from service.domain.building.sandbox_command import Completed
    from service.domain.runs.machine_report import MachineReport

FIRST = 14  # pairs that find the slow-down
POLICY = "{layout: off, probation: 40}"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine on which a patch slows one of two benchmarks by 5 %."""
    return Machine(tmp_path, POLICY)


def control_pairs(machine: Machine) -> list[int]:
    return [each.pair for each in machine.claimed.records if each.variant == ITSELF]


def incomplete(report: MachineReport) -> str:
    (found,) = (each for each in report.causes if "control" in each)
    return found


def test_only_the_slow_down_is_launched_with_the_parent_on_both_sides(machine: Machine) -> None:
    causes = machine.work().causes
    launches = machine.sandbox.launches[-2 * FIRST :]

    assert control_pairs(machine) == list(range(FIRST))
    assert Counter((json.loads(code)["benchmarks"]["BM_slow"], names) for code, names in launches) == {
        (BASE["BM_slow"], "^(BM_slow)$"): 2 * FIRST
    }
    assert machine.claimed.phases[-1] == "control"
    assert not any("control" in each for each in causes)


def test_its_order_is_drawn_anew(machine: Machine) -> None:
    machine.work()
    orders = [
        tuple(launch.side for launch in decode(each.raw))
        for each in machine.claimed.records
        if each.variant == ITSELF
    ]

    assert orders == [side_order("seed", pair, ITSELF) for pair in range(FIRST)]


def test_what_relinks_refute_needs_none(tmp_path: Path) -> None:
    same = {"linked again": {"benchmarks": BASE}}
    machine = Machine(tmp_path, "{probation: 40}", patch=same)
    machine.work()

    assert control_pairs(machine) == []


@pytest.mark.parametrize("policy", ["{layout: off}", POLICY])
def test_a_job_without_probation_and_a_local_gate_need_none(tmp_path: Path, policy: str) -> None:
    machine = Machine(tmp_path, policy)
    if policy == POLICY:
        local = replace(machine.spec, instance="local")
        machine.claimed.spec = local.to_mapping()
    machine.work()

    assert control_pairs(machine) == []


def test_the_row_says_how_the_parent_compares_with_itself(machine: Machine) -> None:
    machine.work()
    rows = {each.row.benchmark: each for each in machine.judge().comparisons}
    (reason,) = rows["BM_slow"].reasons

    assert reason.kind is ReasonKind.CONTROL
    assert reason.facts[0] == pytest.approx(1.0, abs=0.001)
    assert rows["BM_same"].reasons == ()


def test_renamed_benchmarks_have_their_former_name_on_both_sides(tmp_path: Path) -> None:
    """The parent knows no other, and the results count for the new one."""
    renamed = {"benchmarks": {"BM_quick": PATCH["BM_slow"], "BM_same": PATCH["BM_same"]}}
    machine = Machine(tmp_path, POLICY, patch=renamed)
    (suite,) = machine.spec.job.source["suites"]
    suite["renamed"] = {"BM_slow": "BM_quick"}
    machine.claimed.spec = machine.spec.to_mapping()
    machine.work()
    found = judge_measured(machine.spec.judged, machine.claimed.fixed, machine.claimed.measured)

    assert {names for _, names in machine.sandbox.launches[-2 * FIRST :]} == {"^(BM_slow)$"}
    assert {row.benchmark for row in found.controls} == {"BM_quick"}


@dataclass
class Kill:
    """The worker dies in this launch."""

    launch: int

    def __call__(self, number: int) -> None:
        if number == self.launch:
            raise Killed


@pytest.mark.parametrize("launch", [0, 2 * FIRST - 1])
def test_a_worker_that_dies_in_it_loses_and_doubles_no_pair(tmp_path: Path, launch: int) -> None:
    whole, machine = Machine(tmp_path, POLICY), Machine(tmp_path, POLICY)
    whole.work()
    before = len(whole.sandbox.launches) - 2 * FIRST
    machine.sandbox.before = Kill(before + launch)
    with pytest.raises(Killed):
        machine.work()
    machine.sandbox.before = lambda _: None
    machine.work()

    assert control_pairs(machine) == list(range(FIRST))
    seen, uninterrupted = (
        [[raw.side for raw in decode(each.raw)] for each in found.claimed.measured if each.variant == ITSELF]
        for found in (machine, whole)
    )
    assert seen == uninterrupted


def test_another_machine_does_not_go_on_with_it(tmp_path: Path) -> None:
    """The machine that found the slow-down may favour a side, and this one not."""
    machine = Machine(tmp_path, POLICY)
    machine.sandbox.before = Kill(2 * 2 * FIRST - 2)
    with pytest.raises(Killed):
        machine.work()
    machine.sandbox.before = lambda _: None
    machine.host = replace(machine.host, machine="perf-02")
    report = machine.work()

    assert control_pairs(machine) == list(range(FIRST - 1))
    assert incomplete(report).endswith(": another machine measured some of the pairs")


def test_pairs_of_another_machine_are_none(machine: Machine) -> None:
    machine.work()
    assert [each.machine for each in machine.judge().controls.values()] == ["perf-01"]
    machine.claimed.records = [
        replace(each, raw=each.raw.replace(b'"perf-01"', b'"perf-02"')) if each.variant == ITSELF else each
        for each in machine.claimed.records
    ]

    assert machine.judge().controls == {}


@pytest.mark.parametrize(("kind", "pairs"), [(RunKind.CHECK, 0), (RunKind.POST_SUBMIT, FIRST)])
def test_only_a_merged_commit_of_a_job_without_a_vote_has_one(
    machine: Machine, kind: RunKind, pairs: int
) -> None:
    """It decides whether a regression is sure or suspected."""
    machine.spec.job.source["voting"] = False
    machine.claimed.spec = replace(machine.spec, kind=kind).to_mapping()
    machine.work()

    assert len(control_pairs(machine)) == pairs


def test_a_build_that_has_one_measures_none(machine: Machine) -> None:
    machine.work()
    launched = len(machine.sandbox.launches)
    machine.work()

    assert len(machine.sandbox.launches) == launched


def test_a_parent_that_fails_ends_it_and_the_cause_says_so(tmp_path: Path) -> None:
    machine = Machine(tmp_path, POLICY, base={"crashes at": [FIRST + 3, FIRST + 4]})
    found = incomplete(machine.work())

    assert found.startswith("the control (the parent against itself) is incomplete: suite bench: ")
    assert control_pairs(machine) == [0]
    assert machine.judge().judgement.blamed == ("BM_slow",)


@dataclass
class Priced(MemorySandbox):
    """Programs take a second for each benchmark of a launch, and the patch's a set-up of a minute."""

    each: float = 1.0
    patch: float = 60.0

    @override
    def _measure(self, program: str, flags: Mapping[str, str], output: Path) -> Completed:
        names = flags["benchmark_filter"].count("|") + 1
        is_patch = json.loads(program)["benchmarks"]["BM_0"] > BASE["BM_slow"]
        self.seconds = self.each * names + (self.patch if is_patch else 0.0)
        return super()._measure(program, flags, output)


def priced(scratch: Path, each: float = 1.0, patch: float = 0.0, slower: int = 1) -> Machine:
    """A machine with ten minutes, on which a patch slows some benchmarks by 5 to 6 %, the last the most."""
    before = {f"BM_{k}": 1e-6 for k in range(slower)}
    after = {name: (1.05 + 0.0001 * k) * 1e-6 for k, name in enumerate(before)}
    policy = "{layout: off, probation: 40, machine_time: 10m}"
    machine = Machine(scratch, policy, {"benchmarks": before}, {"benchmarks": after})
    machine.sandbox = Priced(each=each, patch=patch)
    machine.host = replace(machine.host, sandbox=machine.sandbox, clock=lambda: machine.sandbox.clock)
    return machine


def test_a_patch_whose_launches_take_long_cannot_prevent_it(tmp_path: Path) -> None:
    machine = priced(tmp_path, patch=60.0)
    report = machine.work()

    assert control_pairs(machine) == list(range(FIRST))
    assert not any("control" in each for each in report.causes)


def test_the_worst_slow_downs_have_one_if_the_time_is_too_short_for_all(tmp_path: Path) -> None:
    """The more a patch slows, the more it must not vote the less."""
    machine = priced(tmp_path, each=2.0, slower=6)
    report = machine.work()
    found = machine.judge()
    controlled = {row.benchmark for row in found.controls}

    assert controlled == {f"BM_{k}" for k in range(1, 6)}
    assert incomplete(report).endswith("; the worst 5 of 6 slow-downs have one")
    assert report.seconds["control"] <= 300


def test_it_does_not_begin_if_not_even_the_worst_can_have_enough_pairs(tmp_path: Path) -> None:
    """15 launches of both sides at 22 s; the first 14 pairs used up the ten minutes."""
    machine = priced(tmp_path, each=22.0)
    report = machine.work()

    assert control_pairs(machine) == []
    assert incomplete(report).endswith("it needs about 11 min, and may take 5 min")


def test_it_gets_half_of_the_machine_time_beyond_it(tmp_path: Path) -> None:
    machine = priced(tmp_path, each=9.9, patch=15.0)
    said = list[str]()
    report = machine.work(Listener(said))

    assert control_pairs(machine) == list(range(FIRST))
    assert report.seconds["control"] == pytest.approx(FIRST * 2 * 9.9)
    assert "perf/1: control, pair 1, at most 5 min more" in said


class TwoModes(Priced):
    """The second launch of each pair of the control is 5 % slower, whichever side it is."""

    @override
    def _measure(self, program: str, flags: Mapping[str, str], output: Path) -> Completed:
        number = len(self.launches) - 2 * FIRST
        if number >= 0 and number % 2:
            found = json.loads(program)
            slower = {name: 1.05 * value for name, value in found["benchmarks"].items()}
            program = json.dumps({**found, "benchmarks": slower})
        return super()._measure(program, flags, output)


@pytest.mark.parametrize("each", [0.1, 9.9])
def test_one_that_is_too_wide_goes_on_while_there_is_time(tmp_path: Path, each: float) -> None:
    machine = priced(tmp_path, each=each)
    machine.sandbox = TwoModes(each=each, patch=0.0)
    machine.host = replace(machine.host, sandbox=machine.sandbox, clock=lambda: machine.sandbox.clock)
    report = machine.work()
    (control,) = machine.judge().controls.values()

    assert len(control_pairs(machine)) > FIRST
    assert not any("control" in cause for cause in report.causes)
    assert control.session.logs
