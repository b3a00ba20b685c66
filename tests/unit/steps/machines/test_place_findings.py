"""A comment is placed on lines of the change's own files that the patch set touches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.building.spec import BuildSpec, Merge, Revision
from service.domain.project.project_file import parse_job
from service.domain.values.errors import BadInput, Transient, Unfit
from service.domain.values.identity import RunKind
from service.domain.verdict.explanation.assembly import Assembly, Line
from service.domain.verdict.explanation.causes import Cause, Kind
from service.domain.verdict.explanation.explanation import Explanation, unpack
from service.steps.machines.place_findings import with_touched_lines
from tests.support.building.memory_source import MemorySource
from tests.unit.steps.machines.test_execute import JOB, Machine, spec_of

if TYPE_CHECKING:
    from pathlib import Path

COMMENTED = parse_job("perf", {**JOB.source, "line_comments": True})


def explained(path: str, line: int) -> Explanation:
    code = Assembly("work", (), (Line(path, line, 10.0, 40.0),), "branch misses")
    return Explanation(
        "bench", "BM_a", causes=(Cause(Kind.BRANCH_MISSES, "work", 10.0, 40.0),), assembly=code
    )


@pytest.fixture
def source() -> MemorySource:
    """A patch set that changes the second of three lines, and a branch that went on in another file."""
    source = MemorySource()
    files = {"src/a.cc": "one\ntwo\nthree\n", "src/b.cc": "b\n", "c.cc": "c\n"}
    source.commit("old", None, files)
    source.commit("head", "old", {**files, "src/b.cc": "new\nb\n"}, "refs/heads/master")
    source.commit("patch", "old", {**files, "src/a.cc": "one\n2\nthree\n"}, "refs/changes/1")
    return source


def spec(source: MemorySource, base: str = "old", merge: Merge | None = None, **other: Any) -> BuildSpec:  # noqa: ANN401
    commit = (source.merge("kv", merge) if merge else None) or "patch"
    parent = Revision(base, "", "refs/heads/master", "reviewed")
    patch = Revision(commit, "", "refs/changes/1", "unreviewed", merge)
    planned = BuildSpec(RunKind.CHECK, "gerrit", "kv", "master", parent, patch, COMMENTED)
    return replace(planned, **other)


def placed(spec: BuildSpec, source: MemorySource, *lines: tuple[str, int]) -> list[tuple[str, int] | None]:
    return [e.touched for e in with_touched_lines(spec, source, [explained(*line) for line in lines])]


def test_only_lines_that_the_patch_set_touches_get_a_comment(source: MemorySource) -> None:
    lines = ("src/a.cc", 1), ("src/a.cc", 2), ("src/b.cc", 1), ("missing.cc", 1)
    assert placed(spec(source), source, *lines) == [None, ("src/a.cc", 2), None, None]
    assert placed(spec(source, job=JOB), source, *lines) == [None] * 4, "without the key"


def test_a_merge_with_the_branch_touches_only_what_the_patch_set_does(source: MemorySource) -> None:
    merged = spec(source, "head", Merge("head", "patch"))
    assert placed(merged, source, ("src/a.cc", 2), ("src/b.cc", 1)) == [("src/a.cc", 2), None]


@pytest.mark.parametrize("error", [BadInput("too many lines"), Transient("git hangs"), Unfit("old git")])
def test_a_source_that_fails_costs_only_the_comment(source: MemorySource, error: Exception) -> None:
    source.fault = error
    assert placed(spec(source), source, ("src/a.cc", 2)) == [None]


def test_the_machine_reports_the_line_with_its_explanation(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    files = machine.source.commits["patch1"].files
    machine.source.commit("patch1", "parent", {**files, "new.cc": "x\ny\n"})
    machine.claimed.spec = replace(spec_of(machine.source), job=COMMENTED).to_mapping()

    machine.host = replace(machine.host, explain=lambda _: (explained("new.cc", 2),))
    machine.work()
    (found,) = unpack(machine.claimed.explained, 0)
    assert found.touched == ("new.cc", 2)
