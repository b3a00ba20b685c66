"""A slower build is explained after its report, and nothing of that changes the report."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from service.domain.project.project_file import parse_project_file
from service.domain.runs.machine_report import MachineReport
from service.domain.values.errors import Cancelled, Drained, Overdue, Transient
from service.domain.values.identity import RunKind
from service.domain.verdict.explanation.causes import Kind
from service.domain.verdict.explanation.explanation import MOST_EXPLAINED, pack, unpack
from service.steps.machines.execute import execute_build
from service.steps.machines.explain_reported import LONGEST
from service.steps.measuring.explain_slower import BUDGET
from tests.support.building.build_host import MemoryClaimed, Silence
from tests.support.review.changes import PROJECT_FILE
from tests.unit.steps.machines.test_execute import Machine, spec_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from service.domain.verdict.explanation.explanation import Explanation
    from service.steps.building.session import BuildSession

PARENT = {"BM_a": 1e-6, "BM_b": 2e-6}


def program(times: dict[str, float], **other: Any) -> str:  # noqa: ANN401
    counted = {"instructions": dict.fromkeys(times, 500), "events": {"Bcm": 10}}
    return json.dumps({"benchmarks": times, **counted, **other})


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with a build whose patch is slower, because it misses more branches."""
    machine = Machine(tmp_path)
    machine.write("parent", program(PARENT))
    machine.write("patch1", program({**PARENT, "BM_a": 1.5e-6}, events={"Bcm": 40}))
    return machine


def plain_report(machine: Machine) -> MachineReport:
    (execution,) = machine.claimed.executions
    return MachineReport.from_mapping(execution)


def test_what_is_slower_is_explained_after_the_report_and_ends_the_lease(machine: Machine) -> None:
    counted: list[list[str]] = []
    machine.claimed.before_explaining = lambda: counted.append([*machine.sandbox.counted])
    with capture_logs() as logs:
        report = machine.work()
    (found,) = unpack(machine.claimed.explained)

    assert counted == [[]]
    assert (found.benchmark, [each.kind for each in found.causes]) == ("BM_a", [Kind.BRANCH_MISSES])
    assert report == plain_report(machine)
    assert report.why == ()
    assert machine.claimed.releases == []
    assert machine.claimed.log == b"== compile: make\n" * 2
    [line] = [each for each in logs if each["event"] == "build.explained"]
    assert (line["rows"], line["bytes"]) == (1, len(machine.claimed.explained))


def test_without_a_slow_down_the_lease_ends_with_the_report(machine: Machine) -> None:
    machine.write("patch1", program(PARENT, more=1))
    machine.claimed.before_explaining = lambda: pytest.fail("it kept the lease")
    assert machine.work() == plain_report(machine)


@pytest.mark.parametrize("kind", RunKind)
def test_all_but_calibrations_are_explained(machine: Machine, kind: RunKind) -> None:
    spec = replace(spec_of(machine.source), kind=kind)
    machine.claimed = MemoryClaimed(spec=spec.to_mapping())
    machine.work()
    assert bool(machine.claimed.explained) == (kind is not RunKind.CALIBRATION)


def test_commits_that_are_compared_without_relinks_are_explained_without_them(machine: Machine) -> None:
    job = parse_project_file(PROJECT_FILE.replace(", layout: off", "")).job("perf")
    spec = replace(spec_of(machine.source), kind=RunKind.ANCHOR, job=job)
    machine.claimed = MemoryClaimed(spec=spec.to_mapping())
    machine.work()
    assert [each.benchmark for each in unpack(machine.claimed.explained)] == ["BM_a"]


def test_the_worst_rows_are_explained_if_there_are_many(machine: Machine) -> None:
    names = [f"BM_{number:02}" for number in range(MOST_EXPLAINED + 2)]
    machine.write("parent", program(dict.fromkeys(names, 1e-6)))
    slower = {name: (1.2 + number / 10) * 1e-6 for number, name in enumerate(names)}
    machine.write("patch1", program(slower, events={"Bcm": 40}))
    machine.work()
    assert [each.benchmark for each in unpack(machine.claimed.explained)] == names[:1:-1]


def test_a_worker_that_must_stop_reports_and_explains_nothing(machine: Machine) -> None:
    stop = threading.Event()
    run = machine.host.runners["benchmark"]

    def run_and_stop(session: BuildSession[Any]) -> MachineReport:
        report = run(session)
        stop.set()
        return report

    host = replace(machine.host, runners={"benchmark": run_and_stop})
    machine.claimed.before_explaining = lambda: pytest.fail("it kept the lease")
    assert execute_build(machine.claimed, host, Silence(), stop.is_set) == plain_report(machine)


@pytest.mark.parametrize(
    "fault", [Cancelled("unwanted"), Overdue("late"), Drained("stop"), Transient("away"), RuntimeError("bug")]
)
def test_whatever_ends_it_leaves_the_report_alone_and_frees_the_host(
    machine: Machine, fault: Exception
) -> None:
    def fail(_: str) -> None:
        raise fault

    machine.sandbox.before_count = fail
    with capture_logs() as logs:
        assert machine.work() == plain_report(machine)
    assert (machine.claimed.explained, machine.claimed.releases) == (b"", [0.0])
    assert [each["event"] for each in logs] == ["build.not_explained"]


def test_what_nobody_wants_once_it_is_packed_is_not_stored(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pack_while_cancelled(found: Sequence[Explanation]) -> bytes:
        machine.claimed.fault = Cancelled("unwanted")
        return pack(found)

    monkeypatch.setattr("service.steps.machines.explain_reported.pack", pack_while_cancelled)
    machine.work()
    assert (machine.claimed.explained, machine.claimed.releases) == (b"", [0.0])


def test_a_lease_that_is_lost_meanwhile_is_no_error(machine: Machine) -> None:
    def lose() -> None:
        machine.claimed.is_lost = True

    machine.claimed.before_explaining = lose
    assert machine.work() == plain_report(machine)
    assert (machine.claimed.explained, machine.claimed.releases) == (b"", [])


def obstacles(machine: Machine, before: Callable[[], None]) -> list[str]:
    """Say why a build is not explained if something happens before."""
    machine.claimed.before_explaining = before
    machine.work()
    return [each.obstacle for each in unpack(machine.claimed.explained)]


def test_programs_that_are_not_kept_are_not_built_again(machine: Machine) -> None:
    assert obstacles(machine, machine.artifacts.kept.clear) == ["its programs are not kept any more"]
    assert machine.sandbox.commands == ["make", "make"]


def test_explaining_has_one_deadline_with_all_that_it_reads(machine: Machine) -> None:
    def pass_time() -> None:
        machine.sandbox.taken += LONGEST + 1

    machine.host = replace(machine.host, clock=lambda: machine.sandbox.clock)
    assert obstacles(machine, pass_time) == ["the deadline has passed"]
    assert LONGEST == BUDGET + 60
