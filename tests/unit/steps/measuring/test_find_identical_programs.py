from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from typing_extensions import override

from service.domain.building.built_files import UNREADABLE, Opened
from service.domain.building.spec import BuildSpec, Revision
from service.domain.measuring.launch_order import side_order
from service.domain.measuring.listing import Listing
from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.runs.side_end import SideEnd, Stage
from service.domain.runs.vote import Outcome
from service.domain.values.identity import RunKind, Side
from service.domain.wording.build_causes import opens_others, opens_unknown
from service.steps.building.session import BuildSession
from service.steps.machines.execute import execute_build
from service.steps.measuring.find_identical_programs import find_identical_programs
from service.steps.measuring.prepare_sides import PreparedSide, PreparedSides
from service.steps.measuring.rehearse import NOTHING_KNOWN, Rehearsal
from tests.support.building.build_host import PROGRAM, MemoryClaimed, MemorySandbox, Silence, memory_host
from tests.support.building.memory_source import CODE, MemorySource, code
from tests.support.memory.files import MemoryInspector, MemoryOpenedFiles, MemoryPacker
from tests.unit.steps.measuring.test_measure import Killed
from tests.unit.steps.measuring.test_measure_disturbed import Neighbour

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from service.domain.building.sandbox_command import Completed
    from service.domain.runs.machine_report import MachineReport

CONFIG = {
    "kind": "benchmark",
    "build": {"compile": "make"},
    "suites": [{"name": "bench", "program": "build/bench"}],
}
CONFIGURATION = BenchmarkConfiguration(suites=(Suite("bench", "build/bench"),))
JOB = Job("perf", JobKind("benchmark"), CONFIGURATION, source=CONFIG)
BASE = {CODE: code(BM_a=1e-6), "README.md": "old", "keys.txt": "a b"}
OTHER = {"README.md": "new"}  # nothing that a program opens unless a test says so


@dataclass
class Notes(Silence):
    """Progress that keeps what stays."""

    notes: list[str] = field(default_factory=list)

    @override
    def note(self, text: str) -> None:
        self.notes.append(text)


class TwoPrograms(MemorySandbox):
    """It makes the programs of ``both.cc``, by name in one file."""

    @override
    def _compile(self, sources: Path, link_seed: str) -> Completed:
        done = super()._compile(sources, link_seed)
        (sources / PROGRAM).write_text((sources / "both.cc").read_text())
        return done


class TwoPacker(MemoryPacker):
    """It unpacks them to a file each."""

    @override
    def unpack(self, sandbox: object, archive: Path, into: Path, watch: Callable[[], None]) -> None:
        super().unpack(sandbox, archive, into, watch)
        for name, program in json.loads((into / "bench").read_text()).items():
            (into / name).write_text(json.dumps(program))


class Pair:
    """Two commits, and the built trees of both."""

    def __init__(
        self, scratch: Path, changed: Mapping[str, str] | None = None, base: Mapping[str, str] = BASE
    ) -> None:
        self.scratch = scratch
        self.source = MemorySource()
        self.sandbox, self.packer = MemorySandbox(), MemoryPacker()
        self.source.commit("base", None, base)
        self.source.commit("patch", "base", {**base, **(changed or {})})
        self.inspector, self.opened_files = MemoryInspector(), MemoryOpenedFiles({"keys.txt"})
        self.ends: Mapping[str, SideEnd] = {}  # of the patch's launches
        self.patch_opens: frozenset[str] | None = None  # None: what the base opens
        self.progress = Notes()
        self.claimed = MemoryClaimed(spec=self.spec().to_mapping())

    def spec(self, kind: RunKind = RunKind.CHECK) -> BuildSpec:
        base, patch = (
            Revision(name, self.source.tree("kv", name), f"refs/heads/{name}", "reviewed")
            for name in ("base", "patch")
        )
        return BuildSpec(kind, "gerrit", "kv", "master", base, patch, JOB)

    def identical(
        self,
        spec: BuildSpec | None = None,
        programs: Sequence[str] = ("x", "x"),
        *,
        is_rehearsed: bool = True,
    ) -> frozenset[str]:
        """The suites found if the built programs of base and patch hold these texts."""
        host = memory_host(self.source, MemorySandbox(), self.scratch, inspector=self.inspector)
        sides = {}
        with ExitStack() as stack:
            for side, program in zip(Side, programs, strict=True):
                tree = stack.enter_context(self.source.checkout("kv", side))
                (tree / "build").mkdir()
                (tree / "build" / "bench").write_text(program)
                opened = stack.enter_context(self.opened_files.observe(tree))
                paths = opened()
                if side is Side.PATCH and self.patch_opens is not None:
                    paths = Opened(self.patch_opens)
                ends = self.ends if side is Side.PATCH else {}
                known = Rehearsal(opened={"bench": paths}, ends=ends)
                rehearsal = known if is_rehearsed else NOTHING_KNOWN
                sides[side] = PreparedSide(tree, rehearsal)
            session = BuildSession(self.claimed, spec or self.spec(), host, self.progress)
            return find_identical_programs(session, PreparedSides(session.spec, sides))

    def execute(self, **conditions: Any) -> MachineReport | None:  # noqa: ANN401
        tools = {
            "inspector": self.inspector,
            "packer": self.packer,
            "opened_files": self.opened_files,
        }
        host = memory_host(self.source, self.sandbox, self.scratch, **tools, **conditions)
        return execute_build(self.claimed, host, Silence())


@pytest.mark.parametrize("path", ["README.md", "README.txt", "src/table.h", "testdata/large.cpp"])
def test_a_changed_file_that_no_launch_opens_leaves_the_same_program(tmp_path: Path, path: str) -> None:
    pair = Pair(tmp_path, {path: "new"})

    assert pair.identical() == {"bench"}
    assert pair.progress.notes == []


def test_a_program_that_differs_is_another(tmp_path: Path) -> None:
    assert Pair(tmp_path, OTHER).identical(programs=("x", "y")) == frozenset()


@pytest.mark.parametrize("path", ["keys.txt", "kernel.h", "page.md", "shader.inl", "CMakeLists.txt"])
def test_a_changed_file_that_a_launch_opens_makes_it_another_case(tmp_path: Path, path: str) -> None:
    """Before, a file with the ending of a source or document was data that nobody compared."""
    pair = Pair(tmp_path, {path: "new"}, {**BASE, path: "old"})
    pair.opened_files.reads = {path}

    assert pair.identical() == frozenset()
    assert pair.progress.notes == [opens_others("bench", [path])]


@pytest.mark.parametrize("is_added", [True, False])
def test_a_file_that_only_one_side_has_counts_if_it_is_opened(tmp_path: Path, *, is_added: bool) -> None:
    without, having = BASE, {**BASE, "more.h": "data"}
    pair = Pair(tmp_path, base=without if is_added else having)
    pair.source.commit("patch", "base", having if is_added else without)
    nothing_opens_it = pair.identical()
    pair.opened_files.reads = {"more.h"}

    assert nothing_opens_it == {"bench"}
    assert pair.identical() == frozenset()


def test_programs_that_cannot_be_read_are_not_the_same(tmp_path: Path) -> None:
    pair = Pair(tmp_path, OTHER)
    pair.inspector.is_blind = True

    assert pair.identical() == frozenset()


def test_programs_are_not_the_same_if_nobody_knows_what_they_open(tmp_path: Path) -> None:
    pair = Pair(tmp_path, OTHER)
    pair.opened_files.unknown = "too many directories"

    assert pair.identical() == frozenset()
    assert pair.progress.notes == [opens_unknown("bench", "too many directories")]


def test_an_opened_file_that_cannot_be_read_makes_it_another_case(tmp_path: Path) -> None:
    pair = Pair(tmp_path, OTHER)
    pair.opened_files.reads = {"build"}  # in memory, nobody reads a directory

    assert pair.identical() == frozenset()
    assert pair.progress.notes == [opens_unknown("bench", UNREADABLE)]


@pytest.mark.parametrize("has_failed", [False, True])
def test_a_launch_that_opens_less_is_of_the_same_program_only_if_it_failed(
    tmp_path: Path, *, has_failed: bool
) -> None:
    pair = Pair(tmp_path, OTHER)
    pair.ends = {"bench": SideEnd(Stage.LAUNCH, "suite bench", "signal 11")} if has_failed else {}
    pair.patch_opens = frozenset({"build/bench"})

    assert pair.identical() == (frozenset({"bench"}) if has_failed else frozenset())


def test_a_failed_launch_whose_data_changed_is_not_of_the_same_program(tmp_path: Path) -> None:
    pair = Pair(tmp_path, {"keys.txt": "2"})
    pair.ends = {"bench": SideEnd(Stage.LAUNCH, "suite bench", "signal 11")}
    pair.patch_opens = frozenset({"build/bench"})

    assert pair.identical() == frozenset()


def test_programs_that_were_rehearsed_in_an_earlier_attempt_are_not_judged_again(tmp_path: Path) -> None:
    assert Pair(tmp_path, OTHER).identical(is_rehearsed=False) == frozenset()


def test_equal_source_trees_need_no_look_at_programs_or_files(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    pair.inspector.is_blind, pair.opened_files.unknown = True, "too many directories"

    assert pair.identical(programs=("built by day", "built by night")) == {"bench"}
    assert pair.identical(pair.spec(RunKind.CALIBRATION)) == frozenset()


def test_a_calibration_counts_what_looks_like_a_change(tmp_path: Path) -> None:
    pair = Pair(tmp_path, OTHER)

    assert pair.identical(pair.spec(RunKind.CALIBRATION)) == frozenset()
    assert pair.identical(replace(pair.spec(), kind=RunKind.POST_SUBMIT)) == {"bench"}


@pytest.mark.parametrize(("changed", "is_same"), [("README.md", True), ("keys.txt", False)])
def test_sameness_is_fixed_with_what_will_be_measured(tmp_path: Path, changed: str, *, is_same: bool) -> None:
    """The rehearsal itself sees which files its launches open."""
    pair = Pair(tmp_path, {changed: "new"})
    pair.execute()

    assert [each.is_same_program for each in pair.claimed.fixed] == [is_same]
    assert pair.claimed.records


def test_the_first_listing_stays(tmp_path: Path) -> None:
    pair = Pair(tmp_path, {"README.md": "new"})
    pair.claimed.fixed = [Listing("bench", ("BM_a",), ("BM_a",))]
    pair.execute()

    assert pair.claimed.fixed == [Listing("bench", ("BM_a",), ("BM_a",))]


def test_the_same_program_that_crashes_is_not_the_patchs_fault(tmp_path: Path) -> None:
    pair = Pair(tmp_path, {"README.md": "new"})
    crashing = '{"benchmarks": {"BM_a": 1e-6}, "crashes": 1}'
    for name in ("base", "patch"):
        commit = pair.source.commits[name]
        pair.source.commit(name, commit.parent, {**commit.files, CODE: crashing})
    pair.claimed = MemoryClaimed(spec=pair.spec().to_mapping())
    report = pair.execute()

    assert report is not None
    assert report.outcome is Outcome.MISCONFIGURED
    assert report.causes[0].startswith("suite bench fails on both sides (exit code 139)")


def test_the_same_program_is_not_blamed_beside_another_that_changed(tmp_path: Path) -> None:
    first = side_order("seed", 0).index(Side.PATCH) + 1  # the patch's launch, and so in the second try
    crashing = {"benchmarks": {"BM_a": 1e-6}, "crashes at": [first, 2 * first]}
    base, patch = (
        json.dumps({"bench": crashing, "other": {"benchmarks": {"BM_b": seconds}}})
        for seconds in (1e-6, 2e-6)
    )
    pair = Pair(tmp_path, {"both.cc": patch}, {**BASE, "both.cc": base})
    pair.sandbox, pair.packer = TwoPrograms(), TwoPacker()
    suites = [*CONFIG["suites"], {"name": "other", "program": "build/other"}]
    pair.claimed.spec = {**pair.claimed.spec, "config": {**CONFIG, "suites": suites}}
    report = pair.execute()

    assert [each.is_same_program for each in pair.claimed.fixed] == [True, False]
    assert report is not None
    assert report.outcome is Outcome.INFRASTRUCTURE
    assert report.causes[0].startswith("the program is identical on both sides")


def test_the_same_program_is_not_blamed_in_a_later_attempt_either(tmp_path: Path) -> None:
    """A later attempt rehearses nothing, so it relies on what the first one found."""
    first, later = (Pair(tmp_path, OTHER) for _ in range(2))
    first.sandbox.before = killed_at(2)
    with pytest.raises(Killed):
        first.execute(cpus=(0,), read_load=Neighbour({0, 1}).read_load)
    at = side_order("seed", 0).index(Side.PATCH) + 1
    crashing = json.dumps({"benchmarks": {"BM_a": 1e-6}, "crashes at": [at, 2 * at]})
    for name, commit in [*later.source.commits.items()]:
        later.source.commit(name, commit.parent, {**commit.files, CODE: crashing})
    later.claimed.spec = later.spec().to_mapping()
    later.claimed.fixed, later.claimed.records = first.claimed.fixed, first.claimed.records
    report = later.execute()

    assert [each.is_same_program for each in later.claimed.fixed] == [True]
    assert len(later.claimed.records) == 1, "a disturbed pair does not count"
    assert report is not None
    assert report.outcome is Outcome.INFRASTRUCTURE


def killed_at(launch: int) -> Callable[[int], None]:
    """End the worker before a launch that measures."""

    def before(number: int) -> None:
        if number == launch:
            raise Killed

    return before
