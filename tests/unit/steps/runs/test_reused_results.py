"""Results of another CI that count for a patch set with equal trees too, if the job says so."""

from __future__ import annotations

import pytest

from service.domain.runs.external import ReportedRevision
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput
from service.steps.runs.sweep import sweep
from tests.support.fakes import WRITTEN
from tests.support.memory.store import MemoryQueue
from tests.support.review.changes import KEY, Service, change_at, project
from tests.support.runs.external import begin, build, end, message, names, record_external_build, vote

REUSING = """\
version: 1
jobs:
  linux: {kind: external, reuse: equal-trees}
  macos: {kind: external}
"""
SECOND = ReportedRevision(KEY, "patch2")


@pytest.fixture
def service() -> Service:
    """A patch set that waits for two jobs; one reuses results."""
    service = Service(source=project(REUSING))
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    service.plan()
    return service


def upload_equal_trees(service: Service) -> None:
    """Upload a second patch set that changes the commit message only, and plan its run."""
    source = service.source
    source.commit("patch2", "parent", source.commits["patch1"].files, "refs/changes/07/7/2")
    service.see(change_at(2, updated=WRITTEN))
    service.plan(2)


def end_second(service: Service, job: str, number: int, result: str = "SUCCESS") -> bool:
    return record_external_build(service.store, SECOND, build(job, number), result)


def test_a_result_counts_for_a_patch_set_with_equal_trees(service: Service) -> None:
    end(service, "linux", 5, "FAILURE", "Test  #49: dcp")
    upload_equal_trees(service)

    assert names(service, 2) == [("linux", 5), ("macos", None)]
    assert end_second(service, "macos", 8)
    assert vote(service) == -1
    assert "Test  #49: dcp ( http://ci.example.com/job/linux/5/ )" in message(service)


def test_other_trees_need_their_own_result(service: Service) -> None:
    end(service, "linux", 5)
    service.see(change_at(2, updated=WRITTEN))
    service.plan(2)
    assert names(service, 2) == [("linux", None), ("macos", None)]


def test_a_build_that_still_runs_counts_when_it_ends(service: Service) -> None:
    """The other CI may skip the new patch set, because its code did not change."""
    begin(service, "linux", 5)
    upload_equal_trees(service)
    sweep(service.store, service.store, MemoryQueue())
    end_second(service, "macos", 8)
    assert service.runs()[-1] == ("patch2", RunState.RUNNING)

    assert end(service, "linux", 5)
    assert vote(service) == 1


def test_an_unstarted_build_waits_for_a_report_on_either_revision(service: Service) -> None:
    upload_equal_trees(service)
    assert names(service, 2) == [("linux", None), ("macos", None)]

    assert record_external_build(service.store, SECOND, build("linux", 6), "SUCCESS")
    assert not record_external_build(service.store, SECOND, build("linux", 6), "SUCCESS")
    assert service.store.memory.builds[0].outcome is Outcome.PASSED


def test_a_new_result_of_equal_trees_from_the_other_ci_counts(service: Service) -> None:
    end(service, "linux", 5, "FAILURE")
    upload_equal_trees(service)

    assert end_second(service, "linux", 6)
    assert names(service, 2) == [("linux", 6), ("macos", None)]
    with pytest.raises(BadInput, match="already ended with FAILURE"):
        end_second(service, "linux", 5)


def test_an_aborted_build_is_not_reused(service: Service) -> None:
    end(service, "linux", 5, "ABORTED")
    upload_equal_trees(service)
    assert names(service, 2) == [("linux", None), ("macos", None)]
