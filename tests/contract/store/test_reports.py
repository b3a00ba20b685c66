"""Store contract: other CIs' builds, and reports with idempotency keys."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.project.job_kinds import JobKind
from service.domain.review.change import ChangeStatus
from service.domain.runs.external import ExternalBuild
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import NotFound
from service.domain.values.identity import ChangeKey, RunKind
from service.ports.runs.builds import NewReport, SentReport
from tests.support.store_samples import change, named, queue

if TYPE_CHECKING:
    from service.ports.runs.builds import BuildRecord, NewBuild
    from service.ports.store import Store
    from tests.contract.store.sites import StoreSite


@pytest.fixture
def report(site: StoreSite) -> NewReport:
    return NewReport(site.add_token(), "key", b"digest")


class TestReports:
    def test_a_report_is_new_once_and_keeps_its_answer(self, store: Store, report: NewReport) -> None:
        with store.transaction() as tx:
            assert tx.external.claim_report(report) is None
            tx.external.answer_report(report, is_news=True)
        again = NewReport(report.token_id, report.key, b"other")
        with store.transaction() as tx:
            assert tx.external.claim_report(again) == SentReport(b"digest", is_news=True)
        with store.transaction() as tx:
            assert tx.external.claim_report(report) == SentReport(b"digest", is_news=True)

    def test_keys_belong_to_one_token(self, store: Store, site: StoreSite, report: NewReport) -> None:
        with store.transaction() as tx:
            tx.external.claim_report(report)
            assert tx.external.claim_report(NewReport(site.add_token(), report.key, report.digest)) is None
            assert tx.external.claim_report(NewReport(report.token_id, "Key", report.digest)) is None

    def test_a_report_that_failed_is_new_again(self, store: Store, report: NewReport) -> None:
        with pytest.raises(NotFound), store.transaction() as tx:
            tx.builds.lock(0 if tx.external.claim_report(report) is None else 1)
        with store.transaction() as tx:
            assert tx.external.claim_report(report) is None


def external(job: str = "linux") -> NewBuild:
    spec = {"instance": "review", "project": "kv_engine", "branch": "master"}
    return named(job, kind=JobKind("external"), pool="", sequence="", spec=spec)


def locked(store: Store, build_id: int) -> BuildRecord:
    with store.transaction() as tx:
        return tx.builds.lock(build_id)


class TestExternalBuilds:
    def test_a_build_has_the_number_the_pages_and_the_last_state_of_another_ci(self, store: Store) -> None:
        [build_id] = queue(store, external())
        assert not locked(store, build_id).has_result
        with store.transaction() as tx:
            tx.external.record_report(
                build_id, ExternalBuild("linux", 5, "http://ci/5", "http://ci/log"), "STARTED"
            )
        started = locked(store, build_id)
        with store.transaction() as tx:
            tx.external.record_report(build_id, ExternalBuild("linux", 5, "http://ci/5/"), "FAILURE")
        build = locked(store, build_id)

        assert (started.reported, started.has_result, started.url) == ("STARTED", False, "http://ci/5")
        assert (build.external_number, build.url, build.log_url) == (5, "http://ci/5/", "http://ci/log")
        assert (build.reported, build.has_result) == ("FAILURE", True)

    def test_builds_are_found_by_project_job_and_number(self, store: Store) -> None:
        builds = queue(store, external(), external("macos"))
        with store.transaction() as tx:
            for build_id in builds:
                tx.external.record_report(build_id, ExternalBuild("linux", 5, "http://ci/5"), "STARTED")
            (found,) = tx.external.builds_numbered("review", "kv_engine", "linux", 5)
            assert found.id == builds[0]
            assert tx.external.builds_numbered("review", "kv_engine", "linux", 7) == []
            assert tx.external.builds_numbered("review", "couchstore", "linux", 5) == []
            assert tx.external.builds_numbered("edge", "kv_engine", "linux", 5) == []

    def test_a_late_result_replaces_a_finished_builds_end_without_a_new_decision(self, store: Store) -> None:
        [build_id] = queue(store, external())
        with store.transaction() as tx:
            tx.external.keep_result(build_id, Outcome.PASSED, [])
        assert locked(store, build_id).state is BuildState.RUNNING, "it has not ended"
        with store.transaction() as tx:
            tx.builds.finish(build_id, Outcome.CANCELLED, ["cancelled"])
            tx.external.keep_result(build_id, Outcome.FAILED, ["a test"])
        build = locked(store, build_id)
        assert (build.state, build.outcome, build.causes) == (
            BuildState.FINISHED,
            Outcome.FAILED,
            ("a test",),
        )

    def test_a_build_has_the_runs_that_reuse_it_too(self, store: Store) -> None:
        [build_id] = queue(store, external())
        with store.transaction() as tx:
            assert tx.external.runs_with(build_id) == [1]
            assert tx.external.runs_with(99) == []
            tx.runs.end(1, RunState.FINISHED)
            following = tx.runs.follow(tx.runs.lock(1), None)
            tx.builds.take(following, 0, build_id)
            assert tx.external.runs_with(build_id) == [1, following]

    def test_the_execution_of_a_build_is_replaced(self, store: Store) -> None:
        [build_id] = queue(store, external())
        for execution in ({"tests": "first"}, {"tests": "second"}):
            with store.transaction() as tx:
                tx.external.store_execution(build_id, execution)
        assert locked(store, build_id).execution == {"tests": "second"}


class TestOutdatedRuns:
    KEY = ChangeKey("review", 7)

    def is_outdated(self, store: Store) -> bool:
        with store.transaction() as tx:
            run = tx.history.newest_run(self.KEY, RunKind.CHECK, "1" * 40)
            assert run is not None
            assert run.state is RunState.RUNNING
            return run.is_outdated

    def test_a_check_of_the_current_patch_set_of_an_open_change_is_current(self, store: Store) -> None:
        queue(store, external())
        assert not self.is_outdated(store)

    def test_a_newer_patch_set_outdates_it(self, store: Store) -> None:
        queue(store, external())
        with store.transaction() as tx:
            tx.changes.upsert(change(patch_set=2, minutes=1))
        assert self.is_outdated(store)

    @pytest.mark.parametrize("status", [ChangeStatus.MERGED, ChangeStatus.ABANDONED])
    def test_the_end_of_the_change_outdates_it(self, store: Store, status: ChangeStatus) -> None:
        queue(store, external())
        with store.transaction() as tx:
            tx.changes.upsert(replace(change(minutes=1), status=status))
        assert self.is_outdated(store)
