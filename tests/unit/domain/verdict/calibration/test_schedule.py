from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from service.domain.project.configuration import Configuration
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.project.policy import Policy
from service.domain.project.project_file import ProjectFile, parse_job
from service.domain.verdict.calibration.schedule import (
    BETWEEN_REVIEWS,
    BETWEEN_SESSIONS,
    BranchKey,
    IdleJob,
    due_branches,
    is_calibrated,
    still_asks,
)

BRANCH = BranchKey("perf", "gerrit", "kv", "master")
CONFIG: dict[str, Any] = {"kind": "benchmark", "suites": [{"name": "s", "program": "build/p"}]}
KNOWN = IdleJob(BRANCH, "cv-perf", CONFIG, BETWEEN_SESSIONS, pairs=48, sessions=3, machine="m1")


@pytest.mark.parametrize(
    ("job", "is_due"),
    [
        (replace(KNOWN, since=None, pairs=0, sessions=0), True),
        (replace(KNOWN, pairs=32, sessions=2), True),
        (replace(KNOWN, pairs=32, sessions=2, since=BETWEEN_SESSIONS - 1), False),
        (replace(KNOWN, pairs=39), True),
        (replace(KNOWN, sessions=2), True),
        (KNOWN, False),
        (replace(KNOWN, since=BETWEEN_REVIEWS), True),
        (replace(KNOWN, since=None, config=CONFIG | {"policy": {"probation": "off"}}), False),
        (replace(KNOWN, since=None, config={"kind": "of another version"}), False),
    ],
    ids=[
        "never",
        "lacking",
        "lacking, too soon",
        "pairs",
        "sessions",
        "known",
        "a day old",
        "off",
        "unknown",
    ],
)
def test_a_job_is_measured_hourly_until_its_series_are_known_and_daily_from_then_on(
    job: IdleJob, *, is_due: bool
) -> None:
    assert job.is_due == is_due


def test_the_branch_that_has_waited_longest_comes_first_and_the_others_after_it() -> None:
    old, new = (replace(BRANCH, branch=name) for name in ("old", "new"))
    jobs = [
        replace(KNOWN, since=BETWEEN_REVIEWS),
        replace(KNOWN, branch=old, since=2 * BETWEEN_REVIEWS),
        replace(KNOWN, branch=old, job="more", since=2 * BETWEEN_REVIEWS),
    ]
    assert list(due_branches(jobs)) == [(old, "m1"), (BRANCH, "m1")]
    more = [*jobs, replace(KNOWN, branch=new, since=None, machine="m2")]
    assert list(due_branches(more)) == [(new, "m2"), (old, "m1"), (BRANCH, "m1")]
    assert due_branches([KNOWN]) == {}


def test_the_spare_machine_stays_free_only_while_every_idle_one_of_its_pool_is_due() -> None:
    spare = replace(KNOWN, pairs=0, machine="m2", is_spare=True)
    elsewhere = replace(KNOWN, branch=replace(BRANCH, pool="other"))
    assert list(due_branches([replace(KNOWN, pairs=0), spare, elsewhere])) == [(BRANCH, "m1")]
    assert due_branches([spare]) == {}
    assert list(due_branches([KNOWN, spare])) == [(BRANCH, "m2")]


def test_a_branch_is_named_with_the_jobs_that_are_due() -> None:
    jobs = [replace(KNOWN, pairs=0), replace(KNOWN, job="more", pairs=0), replace(KNOWN, job="known")]
    assert due_branches(jobs) == {(BRANCH, "m1"): ["cv-perf", "more"]}


@pytest.mark.parametrize(("due", "expected"), [(["a"], True), (["off"], False), (["gone"], False)])
def test_only_a_job_that_the_project_file_has_still_asks(due: list[str], *, expected: bool) -> None:
    off = parse_job("off", CONFIG | {"policy": {"probation": "off"}})
    project_file = ProjectFile((parse_job("a", CONFIG), off))
    assert still_asks(project_file, "perf", due) == expected
    assert not still_asks(project_file, "other", due)


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (parse_job("a", CONFIG), True),
        (parse_job("a", CONFIG | {"pool": "other"}), False),
        (parse_job("a", CONFIG | {"policy": {"probation": 0}}), False),
        (Job("a", JobKind("ctest"), Configuration(), policy=Policy()), False),
    ],
)
def test_benchmark_jobs_of_the_pool_with_a_probation_are_calibrated(job: Job, *, expected: bool) -> None:
    assert is_calibrated(job, "perf") == expected
