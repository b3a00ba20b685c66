"""Another CI reports its builds, in any order and more than once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.review.change import ChangeStatus
from service.domain.runs.external import Report, ReportedRevision
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput, NotFound, Transient
from service.domain.values.identity import ChangeKey, RunKind
from service.ports.runs.builds import NewReport
from service.steps.runs.plan_run import DEADLINE
from service.steps.runs.record_external_build import record_once
from service.steps.runs.sweep import sweep
from tests.support.fakes import WRITTEN
from tests.support.memory.store import MemoryQueue
from tests.support.review.changes import KEY, Service, change_at, project
from tests.support.runs.external import (
    ELSEWHERE,
    TARGET,
    begin,
    build,
    end,
    failed_service,
    message,
    names,
    record_external_build,
    vote,
    waiting_service,
    withdraw_external,
)


@pytest.fixture
def service() -> Service:
    """A patch set that waits for two jobs of another CI."""
    return waiting_service()


@pytest.fixture
def failed() -> Service:
    """The same after its first run, in which macos failed."""
    return failed_service()


class TestTheFirstRun:
    def test_builds_wait_for_their_results_and_no_machine_executes_them(self, service: Service) -> None:
        memory = service.store.memory

        assert [(each.job, each.state) for each in memory.builds[:2]] == [
            ("linux", BuildState.RUNNING),
            ("macos", BuildState.RUNNING),
        ]
        assert [each.sequence_id for each in memory.builds[:2]] == [None, None]
        assert "execute" not in {task for task, _ in memory.hints}

    def test_the_run_ends_with_the_last_result(self, service: Service) -> None:
        assert end(service, "linux", 5)
        service.vote()
        assert service.runs() == [("patch1", RunState.RUNNING)]
        assert end(service, "macos", 7)

        assert vote(service) == 1
        assert message(service)[:3] == [
            "Build Successful ",
            "http://ci.example.com/job/linux/5/ : SUCCESS",
            "http://ci.example.com/job/macos/7/ : SUCCESS",
        ]

    def test_a_cause_ends_with_the_page_of_its_build(self, failed: Service) -> None:
        assert "Test  #49: dcp ( http://ci.example.com/job/macos/7/ )" in message(failed)

    @pytest.mark.parametrize(
        ("result", "cast"), [("SUCCESS", 1), ("FAILURE", -1), ("UNSTABLE", None), ("ABORTED", None)]
    )
    def test_each_result_is_reported_by_its_name_and_votes(
        self, service: Service, result: str, cast: int | None
    ) -> None:
        end(service, "linux", 5, result)
        end(service, "macos", 7)

        assert vote(service) == cast
        assert f"http://ci.example.com/job/linux/5/ : {result}" in message(service)

    def test_a_job_that_the_other_ci_did_not_build_does_not_count(self, service: Service) -> None:
        end(service, "linux", 5, "NOT_BUILT")
        end(service, "macos", 7)

        assert vote(service) == 1

    def test_a_started_build_shows_its_page_before_it_ends(self, service: Service) -> None:
        assert begin(service, "linux", 5)
        assert not begin(service, "linux", 5)

        (linux, *_) = service.store.memory.builds
        assert (linux.external_number, linux.url) == (5, "http://ci.example.com/job/linux/5/")
        assert linux.state is BuildState.RUNNING
        assert end(service, "linux", 5)
        assert names(service, 1) == [("linux", 5), ("macos", None)]

    def test_a_newer_build_replaces_an_unfinished_one(self, service: Service) -> None:
        begin(service, "linux", 5)
        assert end(service, "linux", 6)
        assert end(service, "linux", 5, "FAILURE"), "kept, without weight"

        assert names(service, 1) == [("linux", 6), ("macos", None)]
        assert service.store.memory.builds[-1].outcome is Outcome.PASSED

    def test_a_job_without_changed_files_is_not_run_even_if_the_other_ci_runs_it(
        self, service: Service
    ) -> None:
        assert not begin(service, "docs", 3)
        assert not end(service, "docs", 3, "FAILURE")

    def test_equal_trees_each_need_a_result(self, failed: Service) -> None:
        source = failed.source
        source.commit("patch2", "parent", source.commits["patch1"].files, "refs/changes/07/7/2")
        failed.see(change_at(2, updated=WRITTEN))
        failed.plan(2)

        assert names(failed, 2) == [("linux", None), ("macos", None)]

    def test_without_a_result_it_ends_at_the_deadline(self, service: Service) -> None:
        end(service, "macos", 7)
        service.store.wait(DEADLINE)
        sweep(service.store, service.store, MemoryQueue())

        assert vote(service) is None
        assert message(service)[:3] == [
            "Build Aborted ",
            "https://bench.example.com/job/linux/1/ : ABORTED",
            "the other CI reported no result before the deadline",
        ]
        assert end(service, "linux", 5)
        assert vote(service) == 1

    def test_a_newer_patch_set_ends_the_wait(self, service: Service) -> None:
        service.see(change_at(2, updated=WRITTEN))
        service.plan(2)
        sweep(service.store, service.store, MemoryQueue())

        assert service.store.memory.builds[0].outcome is Outcome.CANCELLED


class TestLaterRuns:
    def test_a_repeated_job_starts_the_next_run_and_moves_to_its_end(self, failed: Service) -> None:
        assert begin(failed, "linux", 6)
        assert failed.runs()[-1] == ("patch1", RunState.RUNNING)
        assert end(failed, "linux", 6)

        assert names(failed, 2) == [("macos", 7), ("linux", 6)]
        assert vote(failed) == -1
        assert "Test  #49: dcp ( http://ci.example.com/job/macos/7/ )" in message(failed)

    def test_a_result_without_a_start_also_starts_and_ends_the_next_run(self, failed: Service) -> None:
        assert end(failed, "macos", 8)

        assert names(failed, 2) == [("linux", 5), ("macos", 8)]
        assert vote(failed) == 1

    def test_a_second_repeated_job_keeps_its_place(self, failed: Service) -> None:
        begin(failed, "linux", 6)
        begin(failed, "macos", 8)
        assert names(failed, 2) == [("macos", 8), ("linux", 6)]
        end(failed, "linux", 6)
        failed.vote(2)
        assert failed.runs()[-1] == ("patch1", RunState.RUNNING)
        end(failed, "macos", 8)

        assert vote(failed) == 1
        assert len(failed.store.memory.decisions) == 2

    def test_a_report_of_an_older_build_changes_nothing(self, failed: Service) -> None:
        assert not begin(failed, "macos", 6)
        assert not end(failed, "macos", 6)
        assert len(failed.store.memory.runs) == 1

    def test_a_start_after_the_result_changes_nothing(self, failed: Service) -> None:
        assert not begin(failed, "macos", 7)
        assert not end(failed, "macos", 7, "FAILURE", "Test  #49: dcp")
        assert len(failed.store.memory.runs) == 1

    def test_a_result_is_final(self, failed: Service) -> None:
        with pytest.raises(BadInput, match="result: build 7 of macos already ended with FAILURE"):
            end(failed, "macos", 7)
        assert len(failed.store.memory.runs) == 1

    def test_a_result_after_the_deadline_begins_the_next_run(self, service: Service) -> None:
        begin(service, "linux", 5)
        end(service, "macos", 7)
        service.store.wait(DEADLINE)
        sweep(service.store, service.store, MemoryQueue())
        assert vote(service) is None

        assert end(service, "linux", 5)
        assert not end(service, "linux", 5)
        assert names(service, 2) == [("macos", 7), ("linux", 5)]
        assert vote(service) == 1

    def test_a_report_from_an_earlier_run_changes_nothing(self, failed: Service) -> None:
        failed.server.say(KEY, "bob", "Patch Set 1:\n\nrecheck")
        failed.see(failed.server.changes[KEY])
        (answer,) = failed.run_comment_commands()
        assert "only builds of another CI failed" in answer

        failed.server.say(KEY, "bob", "Patch Set 1:\n\nrecheck macos")
        failed.see(failed.server.changes[KEY])
        assert failed.run_comment_commands() == []

        assert names(failed, 2) == [("linux", 5), ("macos", None)]
        assert ("execute", 6) not in failed.store.memory.hints
        assert not end(failed, "macos", 7, "FAILURE")
        assert end(failed, "macos", 8)
        assert vote(failed) == 1

    def test_a_branch_is_measured_once(self, failed: Service) -> None:
        merged = change_at(1, updated=WRITTEN, status=ChangeStatus.MERGED, merged_as="patch1")
        failed.see(merged)
        failed.plan(2)
        target = ReportedRevision(KEY, "patch1", RunKind.POST_SUBMIT)
        assert record_external_build(failed.store, target, build("linux", 9), "SUCCESS")
        assert record_external_build(failed.store, target, build("macos", 9), "FAILURE")
        assert record_external_build(failed.store, target, build("macos", 10), "SUCCESS")
        assert vote(failed) is None

        assert not record_external_build(failed.store, target, build("linux", 11), "SUCCESS")


class TestWithdrawnBuilds:
    def test_without_an_executed_build_the_message_does_not_name_it(self, service: Service) -> None:
        assert withdraw_external(service.store, TARGET, "linux")
        assert not withdraw_external(service.store, TARGET, "linux")
        assert withdraw_external(service.store, TARGET, "macos")

        assert vote(service) is None
        assert message(service)[0] == "No Builds Executed "
        assert not any("linux" in line or "macos" in line for line in message(service))

    def test_beside_other_builds_it_prevents_a_plus_one(self, service: Service) -> None:
        withdraw_external(service.store, TARGET, "linux")
        end(service, "macos", 7)

        assert vote(service) is None
        assert message(service)[:3] == [
            "Build Aborted ",
            "https://bench.example.com/job/linux/1/ : ABORTED",
            "the other CI withdrew the build before it started",
        ]

    def test_a_failed_build_beside_it_still_votes_minus_one(self, service: Service) -> None:
        withdraw_external(service.store, TARGET, "linux")
        end(service, "macos", 7, "FAILURE")

        assert vote(service) == -1

    def test_a_started_build_cannot_be_withdrawn(self, service: Service) -> None:
        begin(service, "linux", 5)

        assert not withdraw_external(service.store, TARGET, "linux")

    def test_a_finished_build_cannot_be_withdrawn(self, failed: Service) -> None:
        assert not withdraw_external(failed.store, TARGET, "macos")

    def test_a_withdrawn_build_can_run_later(self, service: Service) -> None:
        withdraw_external(service.store, TARGET, "linux")
        withdraw_external(service.store, TARGET, "macos")
        vote(service)
        end(service, "linux", 5)
        vote(service)
        end(service, "macos", 7)

        assert vote(service) == 1
        assert names(service, 3) == [("linux", 5), ("macos", 7)]


class TestUnknownBuilds:
    def test_a_report_before_the_run_is_planned_must_be_repeated(self) -> None:
        service = Service(source=project(ELSEWHERE))
        service.see(change_at(1))
        for tell in (begin, end):
            with pytest.raises(Transient, match="run 1 is not planned yet"):
                tell(service, "linux", 5)
        with pytest.raises(Transient):
            withdraw_external(service.store, TARGET, "linux")

    @pytest.mark.parametrize(
        ("target", "what"),
        [
            (ReportedRevision(KEY, "patch2"), "there is no check run of patch2 on change 7"),
            (
                ReportedRevision(ChangeKey("gerrit", 8), "patch1"),
                "there is no check run of patch1 on change 8",
            ),
            (
                ReportedRevision(ChangeKey("other", 7), "patch1"),
                "there is no check run of patch1 on change 7",
            ),
            (ReportedRevision(KEY, "patch1", RunKind.POST_SUBMIT), "there is no post-submit run of patch1"),
        ],
    )
    def test_a_report_on_a_revision_without_a_run_must_be_repeated(
        self, service: Service, target: ReportedRevision, what: str
    ) -> None:
        with pytest.raises(Transient, match=what):
            record_external_build(service.store, target, build("linux", 5), "SUCCESS")

    def test_an_unknown_job_is_not_found(self, service: Service) -> None:
        with pytest.raises(NotFound, match="run 1 has no job windows"):
            end(service, "windows", 5)

    def test_a_result_for_a_benchmark_job_is_refused(self, service: Service) -> None:
        with pytest.raises(BadInput, match="job: perf is not of kind external"):
            end(service, "perf", 5)

    def test_an_unknown_result_leaves_the_build_waiting(self, service: Service) -> None:
        with pytest.raises(BadInput, match="result: 'REGRESSED' is not known"):
            end(service, "linux", 5, "REGRESSED")

        assert service.store.memory.builds[0].state is BuildState.RUNNING


class TestAReportUnderAKey:
    """A client that received no answer sends its report again."""

    SENT = NewReport(1, "key-1", b"first")
    LINUX = Report(TARGET, build("linux", 5), "SUCCESS")

    def test_it_is_recorded_once_and_gets_the_same_answer_again(self, service: Service) -> None:
        assert record_once(service.store, self.LINUX, self.SENT)
        memory = service.store.memory
        before = (list(memory.builds), list(memory.hints))

        assert record_once(service.store, self.LINUX, self.SENT)

        assert (list(memory.builds), list(memory.hints)) == before

    def test_an_answer_that_it_changed_nothing_is_repeated_too(self, service: Service) -> None:
        end(service, "linux", 5)
        assert not record_once(service.store, self.LINUX, self.SENT)
        assert not record_once(service.store, self.LINUX, self.SENT)

    def test_a_key_of_another_report_is_refused_without_effect(self, service: Service) -> None:
        record_once(service.store, self.LINUX, self.SENT)
        other = Report(TARGET, build("macos", 7), "FAILURE")

        with pytest.raises(BadInput, match="Idempotency-Key: this key was used for another report"):
            record_once(service.store, other, NewReport(1, "key-1", b"other"))

        assert service.store.memory.builds[1].state is BuildState.RUNNING

    def test_a_report_that_failed_may_be_sent_again_under_its_key(self, service: Service) -> None:
        early = Report(ReportedRevision(ChangeKey("review", 4711), "later"), build("linux", 5), "SUCCESS")
        with pytest.raises(Transient):
            record_once(service.store, early, self.SENT)

        assert record_once(service.store, self.LINUX, self.SENT)

    def test_a_change_of_another_project_is_answered_like_one_that_does_not_exist(
        self, service: Service
    ) -> None:
        answers = []
        for target in (replace(TARGET, project="other"), ReportedRevision(KEY, "nowhere", project="other")):
            with pytest.raises(Transient) as refused:
                record_once(service.store, Report(target, build("linux", 5), "SUCCESS"), self.SENT)
            answers.append(str(refused.value).replace(target.revision, "X"))

        assert answers[0] == answers[1]
        assert record_once(
            service.store, replace(self.LINUX, target=replace(TARGET, project="kv")), self.SENT
        )
