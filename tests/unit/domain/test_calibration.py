from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from service.domain.calibration import (
    BETWEEN_REVIEWS,
    BETWEEN_SESSIONS,
    BranchKey,
    IdleJob,
    is_calibrated,
    next_calibrations,
)
from service.domain.project_file import Job, JobKind, Policy, parse_job

BRANCH = BranchKey("perf", "gerrit", "kv", "master")
CONFIG: dict[str, Any] = {"kind": "benchmark", "suites": [{"name": "s", "program": "p"}]}
KNOWN = IdleJob(BRANCH, "cv-perf", CONFIG, since=BETWEEN_SESSIONS, pairs=48, sessions=3)


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


def test_each_pool_measures_the_branch_that_has_waited_longest() -> None:
    old, new = (replace(BRANCH, branch=name) for name in ("old", "new"))
    lint = replace(BRANCH, pool="other")
    jobs = [
        replace(KNOWN, since=BETWEEN_REVIEWS),
        replace(KNOWN, branch=old, since=2 * BETWEEN_REVIEWS),
        replace(KNOWN, branch=lint, since=2 * BETWEEN_REVIEWS),
    ]
    assert next_calibrations(jobs) == (lint, old)
    assert next_calibrations([*jobs, replace(KNOWN, branch=new, since=None)]) == (lint, new)
    assert next_calibrations([KNOWN]) == ()


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (parse_job("a", CONFIG), True),
        (parse_job("a", CONFIG | {"pool": "other"}), False),
        (parse_job("a", CONFIG | {"policy": {"probation": 0}}), False),
        (Job("a", JobKind.CTEST, policy=Policy()), False),
    ],
)
def test_benchmark_jobs_of_the_pool_with_a_probation_are_calibrated(job: Job, *, expected: bool) -> None:
    assert is_calibrated(job, "perf") == expected
