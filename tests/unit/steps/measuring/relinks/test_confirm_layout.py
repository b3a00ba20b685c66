from __future__ import annotations

import json
from cProfile import Profile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from service.domain.building.spec import BuildSpec, Revision
from service.domain.measuring.formats.reader import read_run
from service.domain.project.project_file import parse_project_file
from service.domain.runs.judge_build import judge_measured
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Transient
from service.domain.values.identity import RunKind
from service.domain.verdict.comparison.link_layout import BATCHES, PAIRS, VARIANTS
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.build_causes import layout_not_checked
from service.steps.machines.execute import execute_build
from tests.support.building.build_host import PROGRAM, MemoryClaimed, MemorySandbox, Silence, memory_host
from tests.support.building.memory_source import CODE, MemorySource
from tests.support.memory.files import MemoryPacker
from tests.unit.steps.measuring.test_measure_disturbed import Neighbour

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from service.domain.building.sandbox_command import Completed
    from service.domain.runs.judge_build import Measured
    from service.domain.runs.machine_report import MachineReport
    from service.ports.building import Progress, Sandbox

    Code = dict[str, Any] | None

MOST = 10  # with the two that may be measured again
SEVEN = BATCHES[0]  # relinks confirm what all of them show
JOB = """\
version: 1
jobs:
  perf:
    kind: benchmark
    build: {compile: make}
    suites: [{name: bench, program: build/bench}]
    policy: {LAYOUT}
"""
BASE = {"BM_slow": 1e-6, "BM_same": 1e-6}
PATCH = {"BM_slow": 1.05e-6, "BM_same": 1e-6}


class Killed(BaseException):
    """The worker is gone; nothing catches this."""


class Machine:
    """A machine on which a patch slows one of two benchmarks by 5 %, as the project links it."""

    def __init__(self, scratch: Path, policy: str = "{}", base: Code = None, patch: Code = None) -> None:
        source = MemorySource()
        source.commit("base", None, {CODE: json.dumps({"benchmarks": BASE, **(base or {})})})
        source.commit("patch", "base", {CODE: json.dumps({"benchmarks": PATCH, **(patch or {})})})
        # The control has tests of its own.
        policy = policy if "probation" in policy else policy.replace("{", "{probation: off, ", 1)
        job = parse_project_file(JOB.replace("{LAYOUT}", policy)).job("perf")
        sides = [Revision(name, source.tree("kv", name), name, "local") for name in ("base", "patch")]
        self.spec = BuildSpec(RunKind.CHECK, "gerrit", "kv", "master", sides[0], sides[1], job)
        self.sandbox = MemorySandbox()
        self.host = memory_host(source, self.sandbox, scratch)
        self.claimed = MemoryClaimed(spec=self.spec.to_mapping())

    def work(self, progress: Progress | None = None) -> MachineReport:
        found = execute_build(self.claimed, self.host, progress or Silence())
        assert found is not None
        return found

    def judge(self) -> Measured:
        return judge_measured(self.spec.judged, self.claimed.fixed, self.claimed.measured)

    @property
    def confirming(self) -> list[int]:
        """To which variant each pair on relinks belongs."""
        return [each.variant for each in self.claimed.records if each.variant]


class Listener(Silence):
    """Progress that is written down."""

    def __init__(self, said: list[str]) -> None:
        self.said = said

    def say(self, text: str, done: float | None = None) -> None:
        self.said.append(text)


def verdict_of(found: Measured, benchmark: str) -> tuple[Verdict, tuple[Reason, ...]]:
    row = next(each for each in found.comparisons if each.row.benchmark == benchmark)
    return row.verdict, row.reasons


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_slow_down_of_every_link_is_believed(machine: Machine) -> None:
    machine.work()
    found = machine.judge()
    verdict, (reason,) = verdict_of(found, "BM_slow")

    assert found.judgement.outcome is Outcome.SLOWER
    assert verdict is Verdict.SLOWER
    assert reason.kind is ReasonKind.LAYOUT_CONFIRMED


def test_a_slow_down_of_one_link_is_taken_back(tmp_path: Path) -> None:
    machine = Machine(tmp_path, patch={"linked again": {"benchmarks": BASE}})
    machine.work()
    found = machine.judge()
    verdict, (reason,) = verdict_of(found, "BM_slow")

    assert found.judgement.outcome is Outcome.UNDECIDED
    assert verdict is Verdict.UNDECIDED
    assert (reason.kind, reason.facts[0]) == (ReasonKind.LAYOUT_REFUTED, 0)


def test_relinks_end_when_they_cannot_confirm_any_more(tmp_path: Path) -> None:
    machine = Machine(tmp_path, patch={"linked again": {"benchmarks": BASE}})
    machine.work()

    assert machine.confirming == [v for v in SEVEN[:4] for _ in range(PAIRS)]


class OneQuickLink(MemorySandbox):
    """One link of the patch is as quick as the parent."""

    links: int = 0

    def _make(self, sources: Path, program: dict[str, Any], link_seed: str) -> Completed:
        end = super()._make(sources, program, link_seed)
        program = json.loads((sources / PROGRAM).read_text())
        if link_seed and program["benchmarks"] == PATCH:
            self.links += 1
            if self.links == 3:
                (sources / PROGRAM).write_text(json.dumps({**program, "benchmarks": BASE}))
        return end


def test_twelve_relinks_in_two_batches_outvote_one_that_disagrees(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.host = replace(machine.host, sandbox=(sandbox := OneQuickLink()))
    machine.work()
    verdict, (reason,) = verdict_of(machine.judge(), "BM_slow")

    assert verdict is Verdict.SLOWER
    assert len(reason.facts) == 12
    assert machine.confirming == [variant for variant in VARIANTS for _ in range(PAIRS)]
    assert len(sandbox.commands) == 2 + 2 * len(BATCHES)


def test_until_its_report_a_worker_reads_each_output_once_and_the_stored_pairs_at_its_start(
    machine: Machine,
) -> None:
    profile, stored_reads = Profile(), list[int]()

    def reported() -> None:
        profile.disable()
        stored_reads.append(machine.claimed.reads)

    machine.claimed.before_explaining = reported
    profile.runcall(machine.work)
    reads = sum(each.callcount for each in profile.getstats() if each.code is read_run.__code__)

    assert len(machine.sandbox.launches) == 2 * (14 + PAIRS * len(SEVEN))
    assert reads == len(machine.sandbox.launches) + len(machine.sandbox.warm_ups)
    assert stored_reads == [1]


def test_only_slower_benchmarks_are_launched_again(machine: Machine) -> None:
    machine.work()

    assert machine.confirming == [variant for variant in SEVEN for _ in range(PAIRS)]
    assert {pattern for _, pattern in machine.sandbox.launches[-2 * PAIRS * len(SEVEN) :]} == {"^(BM_slow)$"}


def test_samples_are_those_of_the_programs_as_built(machine: Machine) -> None:
    machine.work()

    assert {launch.variant for launch in machine.judge().launches} == {0}


@pytest.mark.parametrize(("patch", "made"), [({}, 0), ({"does not link alone": 1}, len(SEVEN))])
def test_each_side_is_compiled_once_more_and_linked_seven_times(
    tmp_path: Path, patch: Code, made: int
) -> None:
    machine = Machine(tmp_path, patch=patch)
    machine.work()

    assert [line.splitlines()[-1] for line in machine.sandbox.commands] == ["make"] * (2 + 2 + made)
    assert len(machine.claimed.binaries) == 2 + 2 * len(SEVEN)
    assert len(set(machine.claimed.binaries.values())) == len(machine.claimed.binaries)


def test_relinks_are_kept_like_other_programs(machine: Machine) -> None:
    machine.work()
    machine.claimed = MemoryClaimed(spec=machine.claimed.spec, binaries=machine.claimed.binaries)
    machine.sandbox.commands.clear()
    machine.work()

    assert machine.sandbox.commands == []
    assert len(machine.confirming) == PAIRS * len(SEVEN)


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (
            {"links always alike": 1},
            "relinking of the patch: the order of objects makes no difference to the programs",
        ),
        ({"does not link again": 1}, "compile failed of the patch: exit code 2"),
        (
            {"linked again": {"crashes": 1}},
            "the relinked program of the patch fails (suite bench: exit code 139)",
        ),
    ],
)
def test_a_change_without_possible_relinks_does_not_vote_and_the_causes_say_why(
    tmp_path: Path, patch: Code, why: str
) -> None:
    machine = Machine(tmp_path, patch=patch)
    report = machine.work()
    found = machine.judge()

    assert report.causes[0] == layout_not_checked(why)
    assert found.judgement.outcome is Outcome.UNDECIDED_WITHHELD
    assert verdict_of(found, "BM_slow") == (
        Verdict.UNDECIDED,
        (Reason(ReasonKind.LAYOUT_NOT_CHECKED),),
    )


@dataclass
class FailingOnce(MemoryPacker):
    """Cannot copy what was linked again, the first time."""

    phases: Sequence[str] = ()
    has_failed: bool = False

    def renew(self, sandbox: Sandbox, builds: tuple[Path, Path], watch: Callable[[], None]) -> bool:
        if "confirm" in self.phases and not self.has_failed:
            self.has_failed = True
            raise Transient("copying of the programs: exit code 1")
        return super().renew(sandbox, builds, watch)


def test_a_machine_that_cannot_copy_relinked_programs_takes_nothing_back(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.host = replace(machine.host, packer=FailingOnce(phases=machine.claimed.phases))

    assert execute_build(machine.claimed, machine.host, Silence()) is None  # it is tried again
    assert not any("layout" in cause for cause in machine.work().causes)
    assert verdict_of(machine.judge(), "BM_slow")[0] is Verdict.SLOWER


def test_a_parent_that_cannot_be_linked_again_is_named(tmp_path: Path) -> None:
    machine = Machine(tmp_path, base={"does not link again": 1})

    assert machine.work().causes[0] == layout_not_checked("compile failed of the parent: exit code 2")


def test_a_benchmark_with_intermittent_results_gets_two_more_pairs_and_no_vote(tmp_path: Path) -> None:
    machine = Machine(tmp_path, patch={"linked again": {"skips": {"BM_slow": 3}}})
    report = machine.work()

    assert report.causes[0] == layout_not_checked("BM_slow gave a result in too few pairs of a relink")
    assert machine.confirming == [1] * MOST
    assert verdict_of(machine.judge(), "BM_slow")[0] is Verdict.UNDECIDED


def test_it_is_not_tried_again_by_another_worker(tmp_path: Path) -> None:
    machine = Machine(tmp_path, patch={"linked again": {"skips": {"BM_slow": 3}}})
    machine.work()
    machine.work()

    assert machine.confirming == [1] * MOST


def test_suspects_of_a_later_check_get_pairs_of_their_own(tmp_path: Path) -> None:
    """Another benchmark, with too few results in all allowed pairs, takes none of them."""
    slow = {"BM_slow": 1.05e-6, "BM_late": 1.05e-6}
    base = {"benchmarks": dict.fromkeys(slow, 1e-6)}
    patch = {"benchmarks": slow, "linked again": {"skips": {"BM_slow": 3}}}
    machine = Machine(tmp_path, "{vote_at_of: {BM_late: 40%}}", base, patch)
    machine.work()
    assert machine.confirming == [1] * MOST
    machine.spec = Machine(tmp_path, "{}", base, patch).spec
    machine.claimed.spec = machine.spec.to_mapping()
    machine.work()

    assert verdict_of(machine.judge(), "BM_slow")[1] == (Reason(ReasonKind.LAYOUT_NOT_CHECKED),)
    assert verdict_of(machine.judge(), "BM_late")[0] is Verdict.SLOWER
    assert machine.confirming == [1] * MOST + [variant for variant in SEVEN for _ in range(PAIRS)]


def test_a_disturbed_pair_is_measured_again(tmp_path: Path) -> None:
    quiet = Machine(tmp_path)
    quiet.work()
    machine = Machine(tmp_path)
    first_again = len(quiet.sandbox.launches) - 2 * PAIRS * len(SEVEN)
    neighbour = Neighbour({first_again, first_again + 1})
    machine.host = replace(machine.host, read_load=neighbour.read_load, cpus=(0,), host_cpus=(0,))
    machine.work()

    assert machine.confirming == [1] * (PAIRS + 1) + [each for each in SEVEN[1:] for _ in range(PAIRS)]
    assert verdict_of(machine.judge(), "BM_slow")[0] is Verdict.SLOWER


def test_progress_reports_that_programs_are_linked_again(machine: Machine) -> None:
    said: list[str] = []
    machine.work(Listener(said))

    relinking = [text.removeprefix("perf/1: ") for text in said if "relink" in text]
    assert relinking[0] == "relink 1 of up to 12, linking again"
    assert relinking[1].startswith("relink 1 of up to 12, pair 1, at most ")


@pytest.mark.parametrize("is_too_large", [False, True])
def test_the_notes_say_whether_programs_stayed_in_one_place(tmp_path: Path, *, is_too_large: bool) -> None:
    machine = Machine(tmp_path)
    machine.host = replace(machine.host, packer=MemoryPacker(is_too_large=is_too_large))
    machine.work()

    assert machine.judge().notes.are_programs_kept_in_place is is_too_large


def test_a_project_may_do_without(tmp_path: Path) -> None:
    machine = Machine(tmp_path, policy="{layout: off}")
    report = machine.work()

    assert "confirm" not in report.seconds
    assert machine.confirming == []
    assert verdict_of(machine.judge(), "BM_slow") == (Verdict.SLOWER, ())


@pytest.mark.parametrize("launch", [30, 31, 47, 70])
def test_a_killed_worker_is_continued_where_it_was(machine: Machine, tmp_path: Path, launch: int) -> None:
    machine.sandbox.before = _kill_at(launch)
    with pytest.raises(Killed):
        machine.work()
    machine.sandbox.before = lambda _: None
    machine.work()

    assert machine.confirming == [variant for variant in SEVEN for _ in range(PAIRS)]
    assert verdict_of(machine.judge(), "BM_slow")[0] is Verdict.SLOWER


def _kill_at(launch: int) -> Callable[[int], None]:
    def before(number: int) -> None:
        if number == launch:
            raise Killed

    return before
