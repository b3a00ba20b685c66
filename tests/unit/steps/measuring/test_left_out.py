"""Claimed benchmarks that a filter leaves out are measured after the report, and for claims only."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from service.domain.building.spec import BuildSpec
from service.domain.claims.left_out import LEAST_PAIRS, MOST_PAIRS, left_out_in
from service.domain.project.project_file import parse_project_file
from service.domain.values.errors import Cancelled, Drained
from service.domain.values.identity import RunKind, Side
from service.domain.verdict.explanation.explanation import unpack
from service.domain.verdict.inference.verdict import Verdict
from service.steps.measuring.launching import Launcher, SideFailed
from service.steps.measuring.left_out import BUDGET
from tests.support.building.build_host import MemoryClaimed
from tests.support.review.changes import PROJECT_FILE
from tests.unit.steps.machines.test_execute import Machine, spec_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from service.domain.claims.answers import MeasuredRow
    from service.domain.measuring.formats.program import Listed
    from service.domain.project.benchmark import Suite

FILTERED = PROJECT_FILE.replace("build/bench}", 'build/bench, filter: "BM_[ab]"}')
PARENT = {"BM_a": 1e-6, "BM_b": 2e-6, "BM_c": 3e-6, "BM_d": 1e-6, "BM_old": 1e-6}
PATCH = {"BM_a": 1e-6, "BM_b": 2e-6, "BM_c": 1.5e-6, "BM_d": 1e-6, "BM_new": 1e-6}
CLAIMED = ("BM_new", "BM_c", "BM_b", "BM_nowhere", "BM_old", "BM_d")


class Claiming(Machine):
    """A machine with a build whose commit message claims something; ``launched`` counts until the report."""

    launched = 0

    def plan(
        self,
        patch: Mapping[str, float] = PATCH,
        parent: Mapping[str, float] = PARENT,
        does: Mapping[Side, Any] = MappingProxyType({}),
        **other: Any,  # noqa: ANN401
    ) -> None:
        """Write both sides, and what else they do, and plan the build."""
        self.write("parent", json.dumps({"benchmarks": dict(parent), **does.get(Side.BASE, {})}))
        self.write("patch1", json.dumps({"benchmarks": dict(patch), **does.get(Side.PATCH, {})}))
        job = parse_project_file(FILTERED).job("perf")
        spec = replace(spec_of(self.source), **{"job": job, "claimed_names": CLAIMED, **other})
        self.claimed = MemoryClaimed(spec=spec.to_mapping(), before_explaining=self.begin)

    def begin(self) -> None:
        self.launched = len(self.sandbox.launches)

    def meet(self, launch: int, seconds: float = 0.0, fault: Exception | None = None, times: int = 9) -> None:
        """Let a launch of claimed benchmarks take long, or fail as often as this."""
        faults = [fault] * times if fault else []

        def before(number: int) -> None:
            if self.launched and number == self.launched + launch:
                self.sandbox.taken += seconds
                if faults and (found := faults.pop()):
                    raise found

        self.sandbox.before = before

    def rows(self) -> dict[str, MeasuredRow]:
        self.work()
        packed = self.claimed.explained
        return {each.benchmark: each for each in left_out_in(packed)} if packed else {}


@pytest.fixture
def machine(tmp_path: Path) -> Claiming:
    machine = Claiming(tmp_path)
    machine.plan(PATCH)
    return machine


def test_what_both_sides_have_is_measured_after_the_report(machine: Claiming) -> None:
    rows = machine.rows()
    assert [rows[name].ratio for name in ("BM_c", "BM_d")] == pytest.approx([0.5, 1], rel=0.01)
    assert (rows["BM_d"].low or 9) < (rows["BM_d"].ratio or 0) < (rows["BM_d"].high or 0)
    assert rows["BM_d"].pairs == MOST_PAIRS
    undecided = dict.fromkeys(("BM_c", "BM_d"), Verdict.UNDECIDED)
    assert {name: each.verdict for name, each in rows.items()} == {
        "BM_new": Verdict.NEW,
        "BM_old": Verdict.REMOVED,
        **undecided,
    }
    assert {names for _, names in machine.sandbox.launches[machine.launched :]} == {"^(BM_c|BM_d)$"}
    assert (unpack(machine.claimed.explained), machine.claimed.releases) == ((), [])


def test_claims_change_neither_listings_nor_pairs_nor_the_report(machine: Claiming) -> None:
    found = []
    for claimed in (CLAIMED, ()):
        machine.sandbox.launches.clear()  # the noise begins anew
        machine.plan(PATCH, claimed_names=claimed)
        assert bool(machine.rows()) is bool(claimed)
        one, sequence = machine.claimed, BuildSpec.from_mapping(machine.claimed.spec).sequence
        found.append((one.fixed, one.records, one.executions, sequence))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "other",
    [
        {"kind": RunKind.LONGER},
        {"base": None},
        {"claimed_names": ("BM_a", "BM_nowhere")},
        {"job": parse_project_file(PROJECT_FILE).job("perf")},
        {"patch": PARENT},
    ],
    ids=lambda other: next(iter(other)),
)
def test_nothing_is_launched_that_is_known_or_not_there(machine: Claiming, other: dict[str, Any]) -> None:
    machine.plan(**{"patch": PATCH, **other})
    assert machine.rows() == {}
    assert len(machine.sandbox.launches) == machine.launched or other == {"base": None}


@pytest.mark.parametrize(("pairs", "has_interval"), [(LEAST_PAIRS, True), (LEAST_PAIRS - 1, False)])
def test_a_launch_that_outlives_the_minute_ends_it(
    machine: Claiming, pairs: int, *, has_interval: bool
) -> None:
    machine.meet(2 * pairs, seconds=BUDGET + 1)
    row = machine.rows()["BM_c"]
    assert (row.pairs, row.low is not None) == (pairs, has_interval)


@pytest.mark.parametrize(("seconds", "launched"), [(1.0, "^(BM_c|BM_d)$"), (3.0, "^(BM_c)$"), (9.0, "")])
def test_those_claimed_first_get_enough_pairs(machine: Claiming, seconds: float, launched: str) -> None:
    """Six pairs of both sides, and one more for disturbed ones, have to fit into the minute."""
    machine.plan(does={side: {"takes": {"BM_c": seconds, "BM_d": seconds}} for side in Side})
    rows = machine.rows()
    assert {names for _, names in machine.sandbox.launches[machine.launched :]} == ({launched} - {""})
    for name in ("BM_c", "BM_d"):
        assert rows[name].verdict is Verdict.UNDECIDED
        assert (rows[name].pairs >= LEAST_PAIRS, rows[name].pairs == 0) == (
            name in launched,
            name not in launched,
        )


def test_threads_beyond_the_cpus_are_not_launched(machine: Claiming) -> None:
    more = {"BM_c/threads:4": 1e-6}
    machine.host = replace(machine.host, cpus=(0, 1))
    machine.plan({**PATCH, **more}, {**PARENT, **more}, claimed_names=(*more, "BM_c"))
    rows = machine.rows()
    assert [(row.pairs, row.verdict) for row in map(rows.get, more) if row] == [(0, Verdict.UNDECIDED)]
    assert rows["BM_c"].pairs == MOST_PAIRS


@pytest.mark.parametrize("side", Side)
def test_a_benchmark_that_crashes_fails_alone(machine: Claiming, side: Side) -> None:
    machine.plan(does={side: {"crashes on": ["BM_c"]}})
    rows = machine.rows()
    assert (rows["BM_c"].verdict, rows["BM_c"].pairs) == (Verdict.FAILING, 0)
    assert rows["BM_d"].pairs == MOST_PAIRS


def test_a_patch_that_crashes_in_each_pair_fails(machine: Claiming) -> None:
    machine.rows()
    before = machine.launched // 2
    machine.sandbox.launches.clear()
    machine.plan(does={Side.PATCH: {"crashes at": list(range(before, 999))}})
    assert machine.rows()["BM_c"].verdict is Verdict.BROKEN


@pytest.mark.parametrize("launch", [0, 13])
def test_a_pair_that_fails_once_is_repeated(machine: Claiming, launch: int) -> None:
    machine.meet(launch, fault=SideFailed(Side.BASE, "bench", "exit code 139"), times=1)
    assert machine.rows()["BM_c"].pairs == MOST_PAIRS


def two_suites(first: str, second: str) -> Any:  # noqa: ANN401
    """A job whose suites are the same program with other filters."""
    suites = f"{{name: a, program: build/bench, {first}}}, {{name: b, program: build/bench, {second}}}"
    return parse_project_file(PROJECT_FILE.replace("{name: bench, program: build/bench}", suites)).job("perf")


def test_a_renamed_benchmark_is_compared_with_its_old_name(machine: Claiming) -> None:
    text = FILTERED.replace("filter:", "renamed: {BM_old: BM_new}, filter:")
    machine.plan(job=parse_project_file(text).job("perf"))
    row = machine.rows()["BM_new"]
    assert row.pairs == MOST_PAIRS
    assert row.ratio == pytest.approx(1, rel=0.01)


def test_a_benchmark_of_two_suites_is_measured_in_the_first(machine: Claiming) -> None:
    machine.plan(job=two_suites("filter: BM_a", "filter: BM_b"))
    machine.work()
    found = [(row.suite, row.benchmark) for row in left_out_in(machine.claimed.explained)]
    assert sorted(found) == [("a", name) for name in ("BM_c", "BM_d", "BM_new", "BM_old")]


def test_a_suite_that_cannot_be_listed_leaves_the_others(
    machine: Claiming, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.plan(job=two_suites("filter: BM_a", "filter: BM_b"))
    listed = Launcher.list

    def fail(launcher: Launcher, suite: Suite, side: Side, before: Sequence[str] = ()) -> Listed:
        if suite.name == "a" and not suite.filter:
            raise SideFailed(side, "a", "exit code 139", is_listing=True)
        return listed(launcher, suite, side, before)

    monkeypatch.setattr(Launcher, "list", fail)
    assert machine.rows()["BM_c"].suite == "b"


def test_as_many_benchmarks_are_measured_as_have_room_for_all_their_metrics(machine: Claiming) -> None:
    text = FILTERED.replace("filter:", "metrics: [cpu_time, real_time, A, B, C, D], filter:")
    many = {f"BM_{number}": 1e-6 for number in range(60)}
    does = {side: {"takes": dict.fromkeys(many, 30.0)} for side in Side}
    job = parse_project_file(text).job("perf")
    machine.plan({**PATCH, **many}, {**PARENT, **many}, does, job=job, claimed_names=tuple(many))
    machine.work()
    rows = left_out_in(machine.claimed.explained)
    assert Counter(row.benchmark for row in rows) == dict.fromkeys(list(many)[:33], 6)


def test_the_interval_does_not_depend_on_the_policy(machine: Claiming) -> None:
    found = []
    for policy in ("probation: off", "false_alarms: 20%, probation: off"):
        machine.sandbox.launches.clear()  # the noise begins anew
        machine.plan(job=parse_project_file(FILTERED.replace("probation: off", policy)).job("perf"))
        found.append(machine.rows()["BM_c"])
    assert found[0] == found[1]


def test_a_program_that_crashes_leaves_the_pairs_before(machine: Claiming) -> None:
    machine.plan(PATCH)
    machine.meet(13, fault=SideFailed(Side.PATCH, "bench", "exit code 139"))
    assert machine.rows()["BM_c"].pairs == LEAST_PAIRS


@pytest.mark.parametrize("fault", [Drained("stop"), RuntimeError("bug")])
def test_whatever_fails_leaves_the_explanation(machine: Claiming, fault: Exception) -> None:
    machine.plan({**PATCH, "BM_a": 1.5e-6})
    machine.meet(3, fault=fault)
    with capture_logs() as logs:
        assert machine.rows() == {}
    assert [each.benchmark for each in unpack(machine.claimed.explained)] == ["BM_a"]
    assert "claims.not_measured" in [each["event"] for each in logs]


def test_a_build_that_nobody_wants_any_more_frees_its_host(machine: Claiming) -> None:
    machine.claimed.before_explaining = lambda: setattr(machine.claimed, "fault", Cancelled("unwanted"))
    assert machine.rows() == {}
    assert machine.claimed.releases == [0.0]
