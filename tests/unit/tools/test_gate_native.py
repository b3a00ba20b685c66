"""Choose `make gate-native`'s jobs, and print its table."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from service.domain.project.project_file import parse_project_file
from service.domain.runs.states import BuildState
from service.domain.runs.vote import Outcome
from tests.support.reading.sample_project import sample_project
from tools.gate_native.__main__ import JOBS, POOLS
from tools.gate_native.other_ci import JOB
from tools.gate_native.table import table


def test_the_eight_jobs_can_run_on_the_pools_of_the_site() -> None:
    jobs = parse_project_file(JOBS.read_text(encoding="utf-8"), where=JOBS.name).jobs
    assert [job.problem for job in jobs if job.problem] == []
    assert {job.kind for job in jobs if job.pool == "lint"} == {
        "clang-format",
        "clang-tidy",
        "clang-analyzer",
    }
    assert len(jobs) == 8
    assert {job.pool for job in jobs if not job.kind.is_external} == set(POOLS)
    assert [job.name for job in jobs if job.kind.is_external] == [JOB]
    assert [job.pool for job in jobs if job.compares] == [POOLS[0]]


def test_the_table_lists_builds_in_starting_order() -> None:
    reading = sample_project()
    build = next(build for run in reading.runs for build in run.builds)
    begun = build.created_at
    late = replace(build, job="late", started_at=begun + timedelta(seconds=70), machine="host/lint")
    soon = replace(
        build,
        job="soon",
        started_at=begun + timedelta(seconds=2),
        finished_at=begun + timedelta(seconds=65),
        state=BuildState.FINISHED,
        outcome=Outcome.FAILED,
        causes=("Failure of a CTest test 1/9",),
        machine=None,
    )
    titles, first, second = table([late, soon], begun)
    assert titles.split() == ["job", "kind", "machine", "start", "time", "result", "first", "cause"]
    assert first.split() == [
        *("soon", soon.kind, "another", "CI", "0:02", "1:03", "failed"),
        *("Failure", "of", "a", "CTest", "test", "1/9"),
    ]
    assert second.split()[:4] == ["late", late.kind, "host/lint", "1:10"]
