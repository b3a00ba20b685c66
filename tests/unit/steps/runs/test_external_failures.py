"""Store another CI's causes as failures that can be recognised again."""

from __future__ import annotations

import pytest

from service.domain.failures.configured import read_patterns
from service.domain.failures.failure import FailureKind
from service.domain.runs.external import ExternalBuild, Report, ReportedRevision
from service.ports.failures.storing import BuildFailures
from service.steps.runs.record_external_build import record_external_build
from tests.support.fakes import WRITTEN
from tests.support.review.changes import KEY, Service, change_at, project
from tests.support.runs.external import record_external_build as report_build

PROJECT = "version: 1\njobs:\n  linux: {kind: external}\n"


@pytest.fixture
def service() -> Service:
    service = Service(source=project(PROJECT))
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    service.plan()
    return service


def fail(service: Service, *causes: str) -> BuildFailures:
    build = ExternalBuild("linux", 5, "http://ci.example.com/job/linux/5/")
    assert report_build(service.store, ReportedRevision(KEY, "patch1"), build, "FAILURE", causes)
    return service.store.memory.build_failures[1]


def test_a_cause_that_names_a_test_is_its_failure(service: Service) -> None:
    found = fail(service, "Failure of a CTest test 49/198 Test #49: dcp ......")
    assert [(each.kind, each.subject) for each in found.failures] == [(FailureKind.TEST, "dcp")]
    assert not found.is_cut


def test_a_cause_that_names_nothing_may_hide_any_failure(service: Service) -> None:
    assert fail(service, "see the console") == BuildFailures((), is_cut=True)


def test_a_cause_that_an_operators_pattern_describes_is_a_failure(service: Service) -> None:
    patterns = read_patterns(
        "no-licence: 'cannot check out a licence for (?P<subject>\\w+)'", "patterns.yaml"
    )
    build = ExternalBuild("linux", 5, "http://ci.example.com/job/linux/5/")
    report = Report(
        ReportedRevision(KEY, "patch1"), build, "FAILURE", ("cannot check out a licence for simulator: full",)
    )
    assert record_external_build(service.store, report, patterns)

    found = service.store.memory.build_failures[1]
    assert [(each.kind, each.subject) for each in found.failures] == [(FailureKind.CONFIGURED, "simulator")]
    assert not found.is_cut
