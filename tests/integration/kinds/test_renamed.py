"""A renamed benchmark on a real machine: the programs of both sides run under their own names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from service.adapters.machines.local_build import LocalBuild
from service.domain.project.project_file import FILE_NAME
from service.domain.runs.vote import Outcome
from service.domain.verdict.inference.verdict import Verdict
from service.steps.runs.gate import choose_jobs, gate, local_spec, rename_as
from tests.support.building.build_host import Silence
from tests.support.project.tiny_project import COMPILE, PROGRAM, PROJECT_FILE

if TYPE_CHECKING:
    from pathlib import Path

    from service.steps.runs.gate import LocalVerdict
    from tests.integration.kinds.conftest import Machine

pytestmark = pytest.mark.integration
OLD, NEW = "BM_Work", "BM_Job"
RENAMING: Final = PROJECT_FILE.replace("repetitions: 1", f"repetitions: 1, renamed: {{{OLD}: {NEW}}}")


def judged(machine: Machine, cache: Path, own: str) -> LocalVerdict:
    """Judge a commit that renames the benchmark and makes it a tenth slower."""
    files = {"compile.sh": COMPILE, "program.sh": PROGRAM, "time.txt": "100", FILE_NAME: PROJECT_FILE}
    after = {**files, "program.sh": PROGRAM.replace(OLD, NEW), "time.txt": "110", FILE_NAME: own}
    base, patch = machine.commits(
        *({name: text.encode() for name, text in side.items()} for side in (files, after))
    )
    source = machine.host.source
    ((job,), _) = choose_jobs(PROJECT_FILE, None, FILE_NAME)
    (job,) = rename_as(source, "kv", patch, [job])
    spec = local_spec(source, "kv", base, patch, job)
    return gate(spec, LocalBuild(spec, "seed", cache), machine.host, Silence())


def test_the_old_and_the_new_name_are_one_pair(machine: Machine, tmp_path: Path) -> None:
    found = judged(machine, tmp_path / "cache", RENAMING)

    assert [(row.row.benchmark, row.verdict) for row in found.comparisons] == [(NEW, Verdict.SLOWER)]
    assert found.comparisons[0].ratio == pytest.approx(1.1)
    assert found.end.outcome is Outcome.SLOWER
    assert f"compared as renamed: {OLD} → {NEW}" in found.end.causes


def test_without_an_entry_they_are_two_benchmarks(machine: Machine, tmp_path: Path) -> None:
    found = judged(machine, tmp_path / "cache", PROJECT_FILE)

    assert {row.row.benchmark: row.verdict for row in found.comparisons} == {
        OLD: Verdict.REMOVED,
        NEW: Verdict.NEW,
    }
    assert found.end.outcome is Outcome.REMOVED
