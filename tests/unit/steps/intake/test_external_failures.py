"""The causes that another CI reports are stored as failures that can be recognised again."""

from __future__ import annotations

import pytest

from service.domain.decision.external import ExternalBuild, Target
from service.domain.failures.failure import FailureKind
from service.ports.failures.storing import BuildFailures
from tests.support.changes import KEY, Service, change_at, project
from tests.support.external import record_external_build
from tests.support.fakes import WRITTEN

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
    assert record_external_build(service.store, Target(KEY, "patch1"), build, "FAILURE", causes)
    return service.store.memory.build_failures[1]


def test_a_cause_that_names_a_test_is_its_failure(service: Service) -> None:
    found = fail(service, "Failure of a CTest test 49/198 Test #49: dcp ......")
    assert [(each.kind, each.subject) for each in found.failures] == [(FailureKind.TEST, "dcp")]
    assert not found.is_cut


def test_a_cause_that_names_nothing_may_hide_any_failure(service: Service) -> None:
    assert fail(service, "see the console") == BuildFailures((), is_cut=True)
