from __future__ import annotations

import pytest

from service.domain.project.benchmark import BenchmarkConfiguration
from service.domain.project.configuration import ExternalConfiguration
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.project.project_file import ProjectFile, concerns, plan_builds


def job(name: str = "perf", *paths: str) -> Job:
    return Job(name, JobKind("benchmark"), BenchmarkConfiguration(suites=()), paths=paths)


def test_builds_are_planned_in_the_order_of_the_file() -> None:
    planned = plan_builds(ProjectFile(jobs=(job("b"), job("a", "docs/"), job("c", "src/**"))), ["src/x.cc"])

    assert [(each.job.name, each.is_needed) for each in planned] == [("b", True), ("a", False), ("c", True)]


@pytest.mark.parametrize(
    ("patterns", "path", "is_concerned"),
    [
        ((), "anything", True),
        (("src/",), "src/a/b.cc", True),
        (("src/",), "lib/src.cc", False),
        (("*.cc",), "deep/down/x.cc", True),
        (("engines/**",), "engines/ep/x.cc", True),
        (("engines/**",), "other/engines/x.cc", False),
        (("src/", "!src/*.md"), "src/README.md", False),
        (("src/", "!src/*.md"), "src/x.cc", True),
        (("a b/",), "a b/x", True),
        (("*.cc",), "engine", False),
        (("engine/**",), "engine", False),
    ],
)
def test_patterns_match_as_in_gitignore(patterns: tuple[str, ...], path: str, is_concerned: bool) -> None:  # noqa: FBT001
    assert concerns(job("perf", *patterns), [path]) is is_concerned


@pytest.mark.parametrize(
    ("patterns", "path", "is_concerned"),
    [
        (("engine",), "engine/", True),
        (("engine/",), "engine/", True),
        (("engine/**",), "engine/", True),
        (("engine/*.cc",), "engine/", True),
        (("engine/src/**/x.cc",), "engine/", True),
        (("eng*/src/",), "engine/", True),
        (("*/src/",), "engine/", True),
        (("*.cc",), "engine/", True),
        (("**/src/*.cc",), "engine/", True),
        (("third_party/",), "third_party/lib/", True),
        (("third_party/lib",), "third_party/lib/", True),
        (("third_party/*/src/*.cc",), "third_party/lib/", True),
        (("third_party/**/*.cc",), "third_party/lib/", True),
        (("**", "!engine/*.md"), "engine/", True),
        (("a/**/x/y.cc",), "a/b/c/d/", True),
        (("engines/**",), "engine/", False),
        (("engine/**",), "lib/engine/", False),
        (("engine/*.cc",), "engine/src/", False),
        (("third_party/*.cc",), "third_party/lib/", False),
        (("third_party/other/src/**",), "third_party/lib/", False),
        (("*.cc", "!third_party/"), "third_party/lib/", False),
        (("engine/**", "!engine"), "engine/", False),
        (("!engine/", "engine/*.cc"), "engine/", True),
    ],
)
def test_any_file_below_a_changed_submodule_may_have_changed(
    patterns: tuple[str, ...],
    path: str,
    is_concerned: bool,  # noqa: FBT001
) -> None:
    assert concerns(job("perf", *patterns), [path]) is is_concerned


def test_an_empty_change_concerns_only_jobs_without_paths() -> None:
    assert concerns(job(), [])
    assert not concerns(job("perf", "**"), [])


def test_a_root_commit_concerns_every_job() -> None:
    assert concerns(job("perf", "docs/"), None)


def test_external_jobs_are_planned_too() -> None:
    elsewhere = Job("linux", JobKind("external"), ExternalConfiguration(), paths=("src/",))
    planned = plan_builds(ProjectFile(jobs=(job(), elsewhere)), ["docs/x"])

    assert [(each.job.name, each.is_needed) for each in planned] == [("perf", True), ("linux", False)]
