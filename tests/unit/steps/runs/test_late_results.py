"""Results of another CI that come late, and numbers of its builds that come twice."""

from __future__ import annotations

import pytest

from service.domain.review.change import ChangeStatus
from service.domain.runs.external import Notice, Report, ReportedRevision
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput
from service.domain.values.identity import RunKind
from service.steps.runs.record_external_build import record_external_build as record_report
from service.steps.runs.sweep import sweep
from tests.support.fakes import WRITTEN
from tests.support.memory.store import MemoryQueue
from tests.support.review.changes import KEY, Service, change_at, project
from tests.support.runs.external import (
    ELSEWHERE,
    begin,
    build,
    end,
    failed_service,
    names,
    record_external_build,
    vote,
    waiting_service,
)


@pytest.fixture
def service() -> Service:
    return waiting_service()


@pytest.fixture
def failed() -> Service:
    return failed_service()


class TestLateResults:
    """Results that no vote can come of are kept, and shown with their build."""

    def test_a_late_result_of_an_old_patch_set(self, service: Service) -> None:
        begin(service, "linux", 5)
        service.see(change_at(2, updated=WRITTEN))
        hints = list(service.store.memory.hints)

        assert end(service, "linux", 5, "FAILURE", "Test  #49: dcp")
        assert end(service, "macos", 7)
        assert not end(service, "macos", 7)

        assert [(each.outcome, each.causes) for each in service.store.memory.builds[:2]] == [
            (Outcome.FAILED, ("Test  #49: dcp",)),
            (Outcome.PASSED, ()),
        ]
        assert service.store.memory.hints == hints
        assert service.runs()[0] == ("patch1", RunState.CANCELLED)

    def test_also_after_its_builds_were_cancelled(self, service: Service) -> None:
        begin(service, "linux", 5)
        service.see(change_at(2, updated=WRITTEN))
        service.plan(2)
        sweep(service.store, service.store, MemoryQueue())
        assert [each.outcome for each in service.store.memory.builds[:2]] == [Outcome.CANCELLED] * 2

        assert not begin(service, "macos", 7), "nobody waits for it"
        assert end(service, "linux", 5)
        assert end(service, "macos", 7, "FAILURE")
        assert not end(service, "linux", 5)

        assert [each.outcome for each in service.store.memory.builds[:2]] == [Outcome.PASSED, Outcome.FAILED]
        assert names(service, 1) == [("linux", 5), ("macos", 7)]
        service.vote()
        assert service.store.memory.decisions == []

    def test_a_repeated_build_of_an_old_patch_set_is_kept_without_another_vote(self, failed: Service) -> None:
        failed.see(change_at(2, updated=WRITTEN))
        decisions = list(failed.store.memory.decisions)

        assert not begin(failed, "macos", 8)
        assert end(failed, "macos", 8)
        assert not end(failed, "macos", 8)

        assert failed.runs()[-1] == ("patch1", RunState.CANCELLED)
        assert names(failed, 3) == [("linux", 5), ("macos", 8)]
        for run in range(1, len(failed.store.memory.runs) + 1):
            failed.vote(run)
        assert failed.store.memory.decisions == decisions

    def test_a_late_result_of_a_merged_change(self, failed: Service) -> None:
        failed.see(change_at(1, updated=WRITTEN, status=ChangeStatus.MERGED, merged_as="patch1"))

        assert end(failed, "macos", 8)
        assert failed.runs()[-1] == ("patch1", RunState.CANCELLED)

    def test_a_late_result_of_a_cancelled_run(self, failed: Service) -> None:
        begin(failed, "macos", 8)
        failed.server.say(KEY, "bob", "Patch Set 1:\n\ncancel")
        failed.see(failed.server.changes[KEY])
        failed.run_comment_commands()
        decisions = len(failed.store.memory.decisions)

        assert end(failed, "macos", 8)
        assert failed.store.memory.builds[-1].outcome is Outcome.PASSED
        failed.vote(2)
        assert len(failed.store.memory.decisions) == decisions

    def test_a_late_result_of_a_replaced_build(self, service: Service) -> None:
        begin(service, "linux", 5)
        begin(service, "linux", 6)
        sweep(service.store, service.store, MemoryQueue())

        assert end(service, "linux", 5, "FAILURE")
        assert service.store.memory.builds[0].outcome is Outcome.FAILED
        assert end(service, "linux", 6)
        end(service, "macos", 7)
        assert vote(service) == 1

    def test_nothing_is_kept_of_a_run_cancelled_before_its_planning(self) -> None:
        service = Service(source=project(ELSEWHERE))
        service.see(change_at(1))
        service.see(change_at(2))
        assert not end(service, "linux", 5)


class TestNumbers:
    def test_a_number_is_of_one_revision(self, failed: Service) -> None:
        """A report that names the wrong revision must not vote there."""
        failed.see(change_at(2, updated=WRITTEN))
        failed.plan(2)
        second = ReportedRevision(KEY, "patch2")
        for result in (Notice.STARTED, "SUCCESS"):
            with pytest.raises(BadInput, match="number: build 5 of linux was reported for another revision"):
                record_report(failed.store, Report(second, build("linux", 5), result))

        assert record_external_build(failed.store, second, build("linux", 4), "SUCCESS")
        with pytest.raises(BadInput, match="another revision"):
            end(failed, "linux", 4)

    def test_a_number_is_of_a_check_or_of_the_merged_commit(self, failed: Service) -> None:
        failed.see(change_at(1, updated=WRITTEN, status=ChangeStatus.MERGED, merged_as="patch1"))
        failed.plan(2)
        with pytest.raises(BadInput, match="another revision"):
            record_external_build(
                failed.store,
                ReportedRevision(KEY, "patch1", RunKind.POST_SUBMIT),
                build("linux", 5),
                "SUCCESS",
            )
