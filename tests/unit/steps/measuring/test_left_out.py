"""Claimed benchmarks that a filter leaves out are measured after the report, and for claims only."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from service.domain.building.spec import BuildSpec
from service.domain.claims.left_out import LEAST_PAIRS, left_out_in
from service.domain.project.project_file import parse_project_file
from service.domain.values.errors import Cancelled, Drained
from service.domain.values.identity import RunKind, Side
from service.domain.verdict.explanation.explanation import unpack
from service.domain.verdict.inference.verdict import Verdict
from service.steps.measuring.launching import SideFailed
from service.steps.measuring.left_out import BUDGET, MOST_PAIRS
from tests.support.building.build_host import MemoryClaimed
from tests.support.review.changes import PROJECT_FILE
from tests.unit.steps.machines.test_execute import Machine, spec_of

if TYPE_CHECKING:
    from pathlib import Path

    from service.domain.claims.answers import Measured

FILTERED = PROJECT_FILE.replace("build/bench}", 'build/bench, filter: "BM_[ab]"}')
PARENT = {"BM_a": 1e-6, "BM_b": 2e-6, "BM_c": 3e-6, "BM_d": 1e-6, "BM_old": 1e-6}
PATCH = {"BM_a": 1e-6, "BM_b": 2e-6, "BM_c": 1.5e-6, "BM_d": 1e-6, "BM_new": 1e-6}
CLAIMED = ("BM_new", "BM_c", "BM_b", "BM_nowhere", "BM_old", "BM_d")


class Claiming(Machine):
    """A machine with a build whose commit message claims something; ``launched`` counts until the report."""

    launched = 0

    def plan(self, patch: dict[str, float], **other: Any) -> None:  # noqa: ANN401
        self.write("parent", json.dumps({"benchmarks": PARENT}))
        self.write("patch1", json.dumps({"benchmarks": patch}))
        job = parse_project_file(FILTERED).job("perf")
        spec = replace(spec_of(self.source), **{"job": job, "claimed": CLAIMED, **other})
        self.claimed = MemoryClaimed(spec=spec.to_mapping(), before_explaining=self.begin)

    def begin(self) -> None:
        self.launched = len(self.sandbox.launches)

    def meet(self, launch: int, seconds: float = 0.0, fault: Exception | None = None) -> None:
        """Let a launch of claimed benchmarks take long or fail."""

        def before(number: int) -> None:
            if self.launched and number == self.launched + launch:
                self.sandbox.taken += seconds
                if fault:
                    raise fault

        self.sandbox.before = before

    def rows(self) -> dict[str, Measured]:
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
        machine.plan(PATCH, claimed=claimed)
        assert bool(machine.rows()) is bool(claimed)
        one, sequence = machine.claimed, BuildSpec.from_mapping(machine.claimed.spec).sequence
        found.append((one.fixed, one.records, one.executions, sequence))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "other",
    [
        {"kind": RunKind.LONGER},
        {"base": None},
        {"claimed": ("BM_a", "BM_nowhere")},
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
