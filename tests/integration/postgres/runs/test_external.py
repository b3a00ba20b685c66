"""Builds that another CI runs, in a real database."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.reading import PostgresReading
from service.domain.building.spec import BuildSpec, Revision
from service.domain.project.job_kinds import JobKind
from service.domain.project.project_file import parse_job
from service.domain.review.links import Links
from service.domain.runs.external import ExternalBuild, ReportedRevision
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput
from service.domain.values.identity import ChangeKey, RunKind
from service.domain.wording.build_causes import NO_RESULT
from service.steps.runs.finish_run import finish_run
from service.steps.runs.sweep import sweep
from tests.integration.postgres.samples import worklist
from tests.support.memory.store import MemoryQueue
from tests.support.runs.external import (
    announce_external,
    record_external_build,
    withdraw_external,
)
from tests.support.store_samples import change, check_run, named, post_submit_run, queue, start

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep import PostgresUpkeep
    from service.ports.runs.builds import BuildRecord, NewBuild
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

TARGET = ReportedRevision(ChangeKey("review", 7), "1" * 40)
LINKS = Links("https://bench.example.com")
PARENT, PATCH = (
    Revision("p" * 40, "q" * 40, "ref", "reviewed"),
    Revision("1" * 40, "t" * 40, "ref", "unreviewed"),
)


def external(job: str) -> NewBuild:
    kind = {"kind": "external"}
    spec = BuildSpec(RunKind.CHECK, "review", "kv_engine", "master", PARENT, PATCH, parse_job(job, kind))
    return named(job, kind=JobKind("external"), pool="", sequence="", spec=spec.to_mapping())


def told(job: str, number: int) -> ExternalBuild:
    return ExternalBuild(job, number, f"http://ci.example.com/job/{job}/{number}/")


def end(store: PostgresStore, job: str, number: int, result: str = "SUCCESS") -> bool:
    return record_external_build(store, TARGET, told(job, number), result, ["Test  #49: dcp"])


def build(store: PostgresStore, build_id: int) -> BuildRecord:
    with store.transaction() as tx:
        return tx.builds.lock(build_id)


@pytest.fixture
def builds(store: PostgresStore) -> list[int]:
    """Two jobs of a check that are waited for."""
    return queue(store, external("linux"), external("macos"))


class TestWaiting:
    def test_it_is_running_from_its_birth_with_nothing_to_share(
        self, store: PostgresStore, builds: list[int], database: Database
    ) -> None:
        linux = build(store, builds[0])

        assert (linux.state, linux.is_external, linux.sequence_id) == (BuildState.RUNNING, True, None)
        assert database.value("SELECT count(*) FROM sequence") == 0

    @pytest.mark.parametrize("pool", ["", "perf"])
    def test_no_machine_ever_gets_it(self, database: Database, builds: list[int], pool: str) -> None:
        assert worklist(database, pool=pool).claim() is None

    def test_nothing_wakes_or_ends_it_before_its_deadline(
        self, store: PostgresStore, upkeep: PostgresUpkeep, database: Database, builds: list[int]
    ) -> None:
        database.change("UPDATE build SET created_at = now() - interval '1 h'")
        database.change("UPDATE run SET created_at = now() - interval '1 h'")
        sent = MemoryQueue()
        sweep(store, upkeep, sent, max_attempts=1)

        assert sent.sent == []
        assert upkeep.requeue_lost_builds(0) == []
        assert {build(store, each).state for each in builds} == {BuildState.RUNNING}

    def test_waiting_ends_at_its_deadline(
        self, store: PostgresStore, upkeep: PostgresUpkeep, database: Database, builds: list[int]
    ) -> None:
        database.change("UPDATE build SET deadline_at = now() WHERE id = :id", id=builds[0])
        sweep(store, upkeep, MemoryQueue())
        linux = build(store, builds[0])

        assert (linux.outcome, linux.causes) == (
            Outcome.INFRASTRUCTURE,
            (NO_RESULT,),
        )
        assert build(store, builds[1]).state is BuildState.RUNNING

    def test_a_cancelled_run_does_not_wait_for_it(
        self, store: PostgresStore, upkeep: PostgresUpkeep, builds: list[int]
    ) -> None:
        with store.transaction() as tx:
            tx.runs.cancel_check(1)
        sweep(store, upkeep, MemoryQueue())

        assert {build(store, each).outcome for each in builds} == {Outcome.CANCELLED}
        assert end(store, "linux", 5), "kept without a vote"
        assert [(each.task, each.entity) for each in upkeep.due_hints()] == []
        assert build(store, builds[0]).outcome is Outcome.PASSED


class TestResults:
    def test_the_round_is_decided_by_the_last_result(
        self, store: PostgresStore, upkeep: PostgresUpkeep, builds: list[int]
    ) -> None:
        assert announce_external(store, TARGET, told("macos", 7))
        assert not announce_external(store, TARGET, told("macos", 7))
        assert [end(store, "macos", 7, "FAILURE") for _ in range(3)] == [True, False, False]
        finish_run(store, LINKS, 1)
        assert end(store, "linux", 5)
        finish_run(store, LINKS, 1)

        (due,) = upkeep.due_reviews()
        assert due.review.labels == {"Verified": -1}
        assert due.review.message.split("\n\n")[:4] == [
            "Build Failed ",
            "http://ci.example.com/job/macos/7/ : FAILURE",
            "Test  #49: dcp ( http://ci.example.com/job/macos/7/ )",
            "http://ci.example.com/job/linux/5/ : SUCCESS",
        ]

    def test_rounds_follow_each_other(self, store: PostgresStore, builds: list[int]) -> None:
        self._first_round(store)
        assert announce_external(store, TARGET, told("linux", 6))
        assert end(store, "macos", 8)
        assert not end(store, "macos", 7, "FAILURE")
        with pytest.raises(BadInput, match="already ended with SUCCESS"):
            end(store, "linux", 5, "FAILURE")
        assert end(store, "linux", 6)
        finish_run(store, LINKS, 2)

        with store.transaction() as tx:
            run = tx.history.newest_run(TARGET.change, TARGET.kind, TARGET.revision)
            assert run is not None
            assert (run.id, run.state) == (2, RunState.FINISHED)
            assert [(each.job, each.external_number) for each in tx.builds.of_run(2)] == [
                ("macos", 8),
                ("linux", 6),
            ]
            assert [each.external_number for each in tx.history.builds_of(run, "macos")] == [7, 8]

    def test_the_run_remembers_the_replaced_build(self, store: PostgresStore, builds: list[int]) -> None:
        end(store, "linux", 5, "FAILURE")
        assert end(store, "linux", 6)
        assert not end(store, "linux", 5, "FAILURE")

        with store.transaction() as tx:
            assert [build.id for build in tx.builds.of_run(1)] == [3, builds[1]]
            assert [each.id for each in tx.history.builds_of(tx.runs.lock(1), "linux")] == [
                builds[0],
                3,
            ]

    def test_another_revision_knows_nothing_of_it(self, store: PostgresStore, builds: list[int]) -> None:
        end(store, "linux", 5)
        with store.transaction() as tx:
            tx.runs.cancel(1, keep_patch_set=None)
            run = start(
                tx, check_run(tx.changes.upsert(change(patch_set=2, minutes=1)).patch_set_id, "2" * 40)
            )
            tx.builds.add(run, 0, external("linux"))
        newer = replace(TARGET, revision="2" * 40)

        assert record_external_build(store, newer, told("linux", 4), "SUCCESS")
        with pytest.raises(BadInput, match="was reported for another revision"):
            record_external_build(store, newer, told("linux", 5), "SUCCESS")

    def test_a_late_result_of_an_old_patch_set_with_a_vote_gets_a_run_without_one(
        self, store: PostgresStore, upkeep: PostgresUpkeep, builds: list[int]
    ) -> None:
        self._first_round(store)
        with store.transaction() as tx:
            tx.changes.upsert(change(patch_set=2, minutes=1))
        hints = upkeep.due_hints()

        assert end(store, "macos", 8)
        with store.transaction() as tx:
            run = tx.history.newest_run(TARGET.change, TARGET.kind, TARGET.revision)
            assert run is not None
            assert (run.id, run.state, run.is_outdated) == (2, RunState.CANCELLED, True)
            assert [each.external_number for each in tx.builds.of_run(2)] == [5, 8]
        assert upkeep.due_hints() == hints

    def test_if_all_builds_were_withdrawn_nothing_was_executed(
        self, store: PostgresStore, upkeep: PostgresUpkeep, builds: list[int]
    ) -> None:
        assert withdraw_external(store, TARGET, "linux")
        assert withdraw_external(store, TARGET, "macos")
        finish_run(store, LINKS, 1)

        (due,) = upkeep.due_reviews()
        assert due.review.labels == {}
        assert due.review.message == "No Builds Executed \n\nhttps://bench.example.com/runs/1#v1"

    def test_pages_show_what_the_other_ci_calls_it(
        self, store: PostgresStore, database: Database, builds: list[int]
    ) -> None:
        announce_external(store, TARGET, told("linux", 5))
        linux, macos = PostgresReading(database.owner).run(1).builds

        assert (linux.external_number, linux.url) == (5, "http://ci.example.com/job/linux/5/")
        assert (macos.external_number, macos.url) == (None, "")

    def test_a_build_is_found_by_the_other_cis_number_or_else_by_ours(
        self, store: PostgresStore, database: Database, builds: list[int]
    ) -> None:
        reading = PostgresReading(database.owner)
        assert reading.build("macos", 1).build.external_number is None
        end(store, "macos", 7, "FAILURE")
        record_external_build(
            store, TARGET, replace(told("macos", 8), log_url="https://ci.example.com/log"), "SUCCESS"
        )
        by_its, by_ours = reading.build("macos", 7), reading.build("macos", 1)
        newer = reading.build("macos", 8)

        assert by_its.build.id == by_ours.build.id == builds[1]
        assert (by_its.build.number, by_its.build.external_number, by_its.log_url) == (1, 7, "")
        assert (newer.build.id, newer.log_url) == (3, "https://ci.example.com/log")
        assert reading.log("macos", 8).parts == ()

    def test_a_number_of_the_other_ci_hides_an_equal_one_of_ours(
        self, store: PostgresStore, database: Database, builds: list[int]
    ) -> None:
        end(store, "macos", 1, "FAILURE")
        end(store, "macos", 2)
        reading = PostgresReading(database.owner)
        assert [reading.build("macos", number).build.external_number for number in (1, 2)] == [1, 2]

        with store.transaction() as tx:
            tx.external.record_report(builds[1], told("macos", 2), "FAILURE")
        assert reading.build("macos", 2).build.id == 3, "the newest of equal numbers"

    def test_a_number_of_the_other_ci_never_hides_a_build_of_a_machine(
        self, store: PostgresStore, database: Database, builds: list[int]
    ) -> None:
        end(store, "macos", 2, "FAILURE")
        with store.transaction() as tx:
            merged = start(tx, post_submit_run())
            moved = tx.builds.add(merged, 0, named("macos", kind=JobKind("ctest")))
        database.change("INSERT INTO log_end VALUES (:id, 1, 0, 0, 'ours')", id=moved)

        reading = PostgresReading(database.owner)
        assert reading.build("macos", 2).build.id == moved
        assert reading.log("macos", 2).size == 4
        assert reading.build("macos", 1).build.id == builds[1]

    def _first_round(self, store: PostgresStore) -> None:
        end(store, "linux", 5)
        end(store, "macos", 7, "FAILURE")
        finish_run(store, LINKS, 1)
