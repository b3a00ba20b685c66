from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

from service.domain.building.spec import BuildSpec, Revision
from service.domain.measuring.launch_order import side_order
from service.domain.measuring.listing import Listing
from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.runs.vote import Outcome
from service.domain.sources.workspace import Workspace
from service.domain.values.errors import BadInput, Transient
from service.domain.values.identity import RunKind, Side
from service.steps.building.find_identical_binaries import find_identical_binaries
from service.steps.building.session import BuildSession
from service.steps.machines.execute import execute_build
from tests.support.building.build_host import (
    CODE,
    PROGRAM,
    MemoryClaimed,
    MemorySandbox,
    MemorySource,
    Silence,
    code,
    memory_host,
)
from tests.support.memory.files import MemoryInspector, MemoryPacker

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
OTHER = {"README.md": "new"}  # nothing that a program reads


class MuteSource(MemorySource):
    """It knows the commits, and cannot say what differs between them."""

    def changed_paths(self, project: str, base: str, patch: str) -> Sequence[str]:
        assert self.fault is not None
        raise self.fault


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
        self,
        scratch: Path,
        changed: Mapping[str, str] | None = None,
        source: MemorySource | None = None,
        base: Mapping[str, str] = BASE,
    ) -> None:
        self.scratch = scratch
        self.source = source or MemorySource()
        self.sandbox, self.packer = MemorySandbox(), MemoryPacker()
        self.source.commit("base", None, base)
        self.source.commit("patch", "base", {**base, **(changed or {})})
        self.inspector = MemoryInspector()
        self.claimed = MemoryClaimed(spec=self.spec().to_mapping())

    def spec(self, kind: RunKind = RunKind.CHECK) -> BuildSpec:
        base, patch = (
            Revision(name, self.source.tree("kv", name), f"refs/heads/{name}", "reviewed")
            for name in ("base", "patch")
        )
        return BuildSpec(kind, "gerrit", "kv", "master", base, patch, JOB)

    def identical(
        self, spec: BuildSpec | None = None, programs: Sequence[str] = ("x", "x")
    ) -> frozenset[str]:
        """The suites found if the built programs of base and patch hold these texts."""
        host = memory_host(self.source, MemorySandbox(), self.scratch, inspector=self.inspector)
        with ExitStack() as stack:
            trees = {side: stack.enter_context(self.source.checkout("kv", side)) for side in Side}
            for tree, program in zip(trees.values(), programs, strict=True):
                (tree / "build").mkdir()
                (tree / "build" / "bench").write_text(program)
            session = BuildSession(self.claimed, spec or self.spec(), host, Silence())
            return find_identical_binaries(session, trees)

    def execute(self) -> MachineReport | None:
        tools = {"inspector": self.inspector, "packer": self.packer}
        host = memory_host(self.source, self.sandbox, self.scratch, **tools)
        return execute_build(self.claimed, host, Silence())


def test_a_change_of_text_for_people_leaves_the_same_program(tmp_path: Path) -> None:
    assert Pair(tmp_path, {"README.md": "new"}).identical() == {"bench"}


def test_a_program_that_differs_is_another(tmp_path: Path) -> None:
    assert Pair(tmp_path, OTHER).identical(programs=("x", "y")) == frozenset()


def test_a_file_of_data_that_differs_makes_it_another_case(tmp_path: Path) -> None:
    assert Pair(tmp_path, {"keys.txt": "a c"}).identical() == frozenset()


def test_a_repository_in_a_folder_of_data_has_data_only(tmp_path: Path) -> None:
    pair = Pair(tmp_path, {"parsed.cc": "int a;"})
    places = {
        folder: pair.identical(replace(pair.spec(), workspace=Workspace("https://h/m", "c" * 40, folder)))
        for folder in ("core", "bench/testdata")
    }
    assert places == {"core": {"bench"}, "bench/testdata": frozenset()}


def test_programs_that_cannot_be_read_are_not_the_same(tmp_path: Path) -> None:
    pair = Pair(tmp_path, OTHER)
    pair.inspector.is_blind = True

    assert pair.identical() == frozenset()


def test_programs_are_not_the_same_if_the_changed_files_are_unknown(tmp_path: Path) -> None:
    source = MuteSource(fault=BadInput("more paths than can be looked at"))

    assert Pair(tmp_path, OTHER, source).identical() == frozenset()


def test_equal_source_trees_need_no_look_at_programs_or_files(tmp_path: Path) -> None:
    pair = Pair(tmp_path, source=MuteSource(fault=Transient("nobody should ask")))
    pair.inspector.is_blind = True

    assert pair.identical(programs=("built by day", "built by night")) == {"bench"}
    assert pair.identical(pair.spec(RunKind.CALIBRATION)) == frozenset()


def test_a_passing_fault_is_raised(tmp_path: Path) -> None:
    pair = Pair(tmp_path, OTHER, MuteSource(fault=Transient("git took too long")))

    with pytest.raises(Transient):
        pair.identical()


def test_a_calibration_counts_what_looks_like_a_change(tmp_path: Path) -> None:
    pair = Pair(tmp_path, OTHER)

    assert pair.identical(pair.spec(RunKind.CALIBRATION)) == frozenset()
    assert pair.identical(replace(pair.spec(), kind=RunKind.POST_SUBMIT)) == {"bench"}


@pytest.mark.parametrize(("changed", "is_same"), [("README.md", True), ("keys.txt", False)])
def test_sameness_is_fixed_with_what_will_be_measured(tmp_path: Path, changed: str, *, is_same: bool) -> None:
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
    pair = Pair(tmp_path, {"both.cc": patch}, base={**BASE, "both.cc": base})
    pair.sandbox, pair.packer = TwoPrograms(), TwoPacker()
    suites = [*CONFIG["suites"], {"name": "other", "program": "build/other"}]
    pair.claimed.spec = {**pair.claimed.spec, "config": {**CONFIG, "suites": suites}}
    report = pair.execute()

    assert [each.is_same_program for each in pair.claimed.fixed] == [True, False]
    assert report is not None
    assert report.outcome is Outcome.INFRASTRUCTURE
    assert report.causes[0].startswith("the program is identical on both sides")
