"""A new machine without any history judges its first patch sets: the control stands in for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

from service.domain.building.spec import UNREVIEWED
from service.domain.measuring.launch import ITSELF
from service.domain.project.policy import Policy
from service.domain.runs.states import BuildState
from service.domain.runs.vote import Outcome
from service.domain.values.identity import Side
from service.domain.verdict.calibration.evidence import Session
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.steps.measuring.launching import Launcher
from tests.support.building.build_host import MemorySandbox
from tests.support.building.memory_source import CODE, code
from tests.support.review.changes import PROJECT_FILE, Service, project
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from service.domain.building.sandbox_command import Completed
    from service.domain.measuring.pair_record import RawLaunch
    from service.domain.project.benchmark import Suite

ON = PROJECT_FILE.replace("probation: off", f"probation: {Policy().probation}")
RELINKED = ON.replace(", layout: off", "")
FIRST = 14  # pairs that find a slow-down of 5 %


@dataclass
class Lopsided(MemorySandbox):
    """A machine that runs the same program slower on the patch's side."""

    own: float = 1.05
    side: Side = Side.BASE

    @override
    def _measure(self, program: str, flags: Mapping[str, str], output: Path) -> Completed:
        behaviour = json.loads(program)
        factor = self.own if self.side is Side.PATCH else 1.0
        taken = {name: factor * seconds for name, seconds in behaviour["benchmarks"].items()}
        return super()._measure(json.dumps({**behaviour, "benchmarks": taken}), flags, output)


@pytest.fixture
def lopsided(monkeypatch: pytest.MonkeyPatch) -> Lopsided:
    sandbox, launch = Lopsided(), Launcher.launch

    def told(
        launcher: Launcher, suite: Suite, side: Side, names: Sequence[str], pair: int, *, is_renewed: bool
    ) -> RawLaunch:
        sandbox.side = side
        return launch(launcher, suite, side, names, pair, is_renewed=is_renewed)

    monkeypatch.setattr(Launcher, "launch", told)
    return sandbox


def new_farm(scratch: Path, text: str, patch: float, sandbox: MemorySandbox | None = None) -> Farm:
    """A new installation of one machine, with a first patch set that makes a benchmark slower by a factor."""
    source = project(text, **{"src/notes": "1"})
    kept = source.commits["parent"].files
    changed = {**kept, "src/notes": "2", CODE: code(BM_a=1e-6 * patch, BM_b=2e-6)}
    source.commit("patch1", "parent", changed, "refs/changes/07/7/1")
    farm = Farm(scratch, Service(source=source), sandbox=sandbox or MemorySandbox())
    farm.review()
    farm.execute()
    farm.analyse()
    return farm


def reasons(farm: Farm, benchmark: str = "BM_a", build: int = 1) -> list[ReasonKind]:
    (found,) = (
        each
        for each in farm.service.store.memory.results[build].comparisons
        if each.series.benchmark == benchmark
    )
    return [each.kind for each in found.reasons]


def judge_again(farm: Farm, **other: object) -> None:
    farm.service.store.update(1, state=BuildState.EXECUTED, **other)
    farm.analyse()


@pytest.mark.parametrize("text", [ON, RELINKED], ids=["layout off", "relinked"])
def test_a_slow_down_of_five_percent_votes_on_the_first_patch_set(tmp_path: Path, text: str) -> None:
    farm = new_farm(tmp_path, text, 1.05)
    (build,) = farm.service.store.memory.builds
    farm.service.vote()
    (decision,) = farm.service.store.memory.decisions

    assert (build.outcome, build.blamed) == (Outcome.SLOWER, ("BM_a",))
    assert decision.vote == -1
    assert "the parent against itself: " in decision.message
    assert reasons(farm)[-1] is ReasonKind.CONTROL


def test_its_pairs_are_evidence_about_the_machine(tmp_path: Path) -> None:
    evidence = new_farm(tmp_path, ON, 1.05).service.store.memory.evidence
    ((key, (machine, session)),) = ((key, found) for (key, _), found in evidence.items())

    assert (key.benchmark, machine, len(session.logs)) == ("BM_a", "perf-01", FIRST)
    assert not session.is_alarm


def test_a_machine_that_did_not_measure_them_gets_no_evidence(tmp_path: Path) -> None:
    farm = new_farm(tmp_path, ON, 1.05)
    farm.service.store.memory.evidence.clear()
    judge_again(farm, machine="perf-02")

    assert reasons(farm)[-1] is ReasonKind.CONTROL
    assert farm.service.store.memory.evidence == {}


def test_a_parent_under_review_is_no_evidence(tmp_path: Path) -> None:
    """Its author could make it look slower than itself, and with it the machine."""
    farm = new_farm(tmp_path, ON, 1.05)
    memory = farm.service.store.memory
    memory.evidence.clear()
    spec = memory.builds[0].spec
    judge_again(farm, spec={**spec, "base": {**spec["base"], "trust": UNREVIEWED}})

    assert reasons(farm)[-1] is ReasonKind.CONTROL
    assert memory.evidence == {}


@pytest.mark.parametrize(("text", "patch"), [(ON, 1.02), (RELINKED, 1.001)], ids=["layout off", "relinked"])
def test_a_machine_that_makes_one_side_slower_gives_no_vote(
    tmp_path: Path, lopsided: Lopsided, text: str, patch: float
) -> None:
    """Relinks confirm such a difference each time: it is in all of them."""
    farm = new_farm(tmp_path, text, patch, lopsided)
    (build,) = farm.service.store.memory.builds
    farm.service.vote()
    (decision,) = farm.service.store.memory.decisions

    assert build.outcome is not Outcome.SLOWER
    assert decision.vote == 1
    assert ", not counted; worst: " in decision.message
    assert ", so the machine may explain it" in decision.message
    assert {reasons(farm, name)[-1] for name in ("BM_a", "BM_b")} == {ReasonKind.OWN_DIFFERENCE}


def test_judging_a_build_again_counts_its_false_alarms_once_and_changes_no_vote(
    tmp_path: Path, lopsided: Lopsided
) -> None:
    farm = new_farm(tmp_path, ON, 1.001, lopsided)
    judge_again(farm)
    evidence = farm.service.store.memory.evidence

    assert len(evidence) == 2
    assert all(session.is_alarm for _, session in evidence.values())
    assert reasons(farm)[-1] is ReasonKind.OWN_DIFFERENCE


def test_judging_a_build_again_does_not_count_its_own_control_as_history(tmp_path: Path) -> None:
    """Two sessions, and a control with too few pairs, would make three sessions."""
    farm = new_farm(tmp_path, ON, 1.05)
    memory = farm.service.store.memory
    ((key, sequence),) = memory.evidence
    for earlier in (101, 102):
        memory.evidence[key, earlier] = ("perf-01", Session((0.0, 0.001) * 20, Verdict.SAME))
    memory.pairs[sequence] = [
        each for each in memory.pairs[sequence] if each.variant != ITSELF or each.pair < FIRST // 2
    ]
    for _ in range(2):
        judge_again(farm)
        assert reasons(farm) == [ReasonKind.ON_PROBATION]
    assert len(memory.evidence) == 3


def test_what_it_makes_slower_leaves_a_far_larger_slow_down_to_the_patch(
    tmp_path: Path, lopsided: Lopsided
) -> None:
    farm = new_farm(tmp_path, ON, 1.4, lopsided)
    (build,) = farm.service.store.memory.builds

    assert (build.outcome, build.blamed) == (Outcome.SLOWER, ("BM_a",))
