"""A/A evidence, and when pools have time to gather it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from service.adapters.postgres.machines.calls import call
from service.adapters.postgres.machines.worklist import MachineIdentity, MachineWorklist
from service.adapters.postgres.reading import PostgresReading
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.values.identity import RunKind, SeriesKey
from service.domain.verdict.calibration.evidence import Session
from service.domain.verdict.calibration.schedule import ASKED_WITHIN, BranchKey, due_branches
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.runs.runs import NewRun
from tests.integration.postgres.samples import NASTY, claimed, worklist
from tests.support.memory.files import MemoryArtifacts
from tests.support.store_samples import BUILD, change, queue, start

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep import PostgresUpkeep
    from service.ports.runs.builds import NewBuild
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

CONFIG: dict[str, Any] = {"kind": "benchmark", "suites": [{"name": "executor", "program": "build/p"}]}
CHECK = replace(BUILD, spec={"kind": "check", "config": CONFIG})
BRANCH = BranchKey("perf", "review", "kv_engine", "master")
QUIET = Session((0.5, -0.25, 0.0), Verdict.SAME)
ALARM = Session((0.125,) * 4, Verdict.SLOWER)


def calibration(sequence: str) -> NewBuild:
    spec = {"kind": "calibration", "config": CONFIG}
    return replace(BUILD, spec=spec, sequence=sequence, priority=9, is_voting=False)


def calibration_run(pool: str = "perf") -> NewRun:
    run = NewRun(RunKind.CALIBRATION, None, "review", "kv_engine", "master", "3" * 40)
    return replace(run, pool=pool)


def key(benchmark: str = "BM_a") -> SeriesKey:
    return SeriesKey("review", "kv_engine", "master", "perf", "cv-perf", "executor", benchmark, "cpu_time")


def calibrate(
    store: PostgresStore,
    database: Database,
    sequence: str,
    sessions: dict[SeriesKey, Session],
    machine: str = "perf-01",
) -> None:
    """A whole calibration on a machine; builds of an equal sequence continue one another."""
    with store.transaction() as tx:
        run = start(tx, calibration_run())
        build = tx.builds.lock(tx.builds.add(run, 0, calibration(sequence)))
        build = replace(build, machine=machine)
        tx.measurements.store_results(
            build, RunKind.CALIBRATION, dict.fromkeys(sessions, ("s", "lower")), [], []
        )
        tx.evidence.store(build, sessions)
        tx.builds.finish(build.id, Outcome.PASSED, [])
        tx.runs.end(run, RunState.FINISHED)


def age(database: Database, minutes: int) -> None:
    """Let calibrations have been planned some time ago."""
    database.change(
        "UPDATE run SET created_at = now() - make_interval(mins => :age) WHERE kind = 'calibration'",
        age=minutes,
    )


class TestEvidence:
    def test_the_name_of_a_benchmark_may_be_any_text(self, store: PostgresStore, database: Database) -> None:
        worklist(database)
        calibrate(store, database, "1", {key(NASTY): QUIET})
        with store.transaction() as tx:
            assert tx.evidence.of("perf-01", [key(NASTY)])[key(NASTY)].newest == (QUIET,)

    def test_branches_have_their_sessions_in_common_and_benchmarks_of_other_projects_do_not(
        self, store: PostgresStore, database: Database
    ) -> None:
        """Also if the parts of both keys are the same text without their borders."""
        worklist(database)
        release = replace(key(), branch="7.6.x")
        others = [
            replace(key(), project="kv_enginep", job="erf"),
            replace(key(), suite="executor,BM", benchmark="_a"),
        ]
        for sequence, series in enumerate((key(), release, *others)):
            calibrate(store, database, str(sequence), {series: QUIET})
        with store.transaction() as tx:
            found = tx.evidence.of("perf-01", [key(), release, *others])
        assert [found[each].sessions for each in (key(), release, *others)] == [2, 2, 1, 1]

    def test_a_status_has_moment_and_job_of_the_newest_session_of_its_own_branch(
        self, store: PostgresStore, database: Database
    ) -> None:
        worklist(database)
        release = replace(key(), branch="7.6.x")
        for sequence, series in (("1", key()), ("2", release)):
            calibrate(store, database, sequence, {series: QUIET})
        database.change("""UPDATE build SET spec = jsonb_set(spec, '{config,policy}',
            jsonb_build_object('probation', 10 * (
                SELECT sequence_id FROM evidence WHERE build_id = build.id)))""")
        database.change("UPDATE machine SET since = now() - interval '1 d'")
        database.change("UPDATE evidence SET created_at = now() - sequence_id * interval '1 h'")
        own = {
            branch: (moment, 10 * sequence)
            for branch, moment, sequence in database.rows(
                "SELECT branch, created_at, sequence_id FROM evidence JOIN series ON series.id = series_id"
            )
        }
        found = PostgresReading(database.owner).voting_statuses(9)
        shown = {
            each.series.branch: (each.measured_at, each.voting_status.why_not.facts[1])
            for each in found
            if each.voting_status.why_not
        }
        assert (shown, len(own)) == (own, 2)

    def test_it_is_read_by_machine_and_series(self, store: PostgresStore, database: Database) -> None:
        worklist(database)
        worklist(database, "perf-02")
        for sequence in "123":
            calibrate(store, database, sequence, {key("BM_b"): QUIET, key(): ALARM})
        calibrate(store, database, "4", {key(): QUIET}, "perf-02")
        reading = PostgresReading(database.owner)
        found = reading.voting_statuses(10)
        assert [each.machine for each in found] == ["perf-01", "perf-01", "perf-02"]
        assert {(each.series.benchmark, each.voting_status.sessions) for each in found[:2]} == {
            ("BM_a", 3),
            ("BM_b", 3),
        }
        assert (found[2].series.benchmark, found[2].voting_status.sessions) == ("BM_a", 1)
        alarming = next(each.voting_status for each in found if each.voting_status.alarms)
        assert alarming.why_not == Reason(ReasonKind.SUSPENDED, (3, 3))
        assert list(reading.voting_statuses(1, ("perf-01", found[1].series.id))) == [found[2]]

    def test_sessions_of_another_environment_or_installation_count_no_more(
        self, store: PostgresStore, database: Database
    ) -> None:
        def sessions() -> tuple[int, ...]:
            with store.transaction() as tx:
                found = tx.evidence.of("perf-01", [key()])
            shown = PostgresReading(database.owner).voting_statuses(9)
            counted = tuple(each.voting_status.sessions for each in shown)
            assert counted == tuple(each.sessions for each in found.values())
            return counted

        def register(kernel: str, install: str) -> None:
            identity = MachineIdentity("perf-01", "perf", "perf", install=install, version="0.2")
            MachineWorklist(database.machine, identity, MemoryArtifacts()).register(kernel, {})

        register("6.1", "")
        calibrate(store, database, "1", {key(): QUIET})
        database.change("UPDATE build SET environment_id = (SELECT environment_id FROM machine)")
        register("6.1", "first")
        assert sessions() == (1,)
        register("6.2", "first")
        assert sessions() == ()
        register("6.1", "first")
        assert sessions() == (1,)
        register("6.1", "second")
        assert sessions() == ()
        [machine] = PostgresReading(database.owner).machines()
        assert (machine.name, machine.version) == ("perf-01", "0.2")

    def test_a_worker_of_the_version_before_leaves_no_version_behind(self, database: Database) -> None:
        identity = MachineIdentity("perf-01", "perf", "perf", install="first", version="0.2")
        MachineWorklist(database.machine, identity, MemoryArtifacts()).register("6.1", {})
        former = "SELECT machine.introduce('perf-01', 'perf', 'perf', 'perf-01', 1, '6.1', '{}')"
        with database.machine.begin() as connection:
            connection.execute(text(former))
        assert database.rows("SELECT version, install FROM machine") == [("", "first")]

    def test_a_machine_asks_how_long_a_host_has_been_silent(self, database: Database) -> None:
        worklist(database)
        database.change("UPDATE machine SET last_seen_at = now() - interval '1 min'")
        [(silent,)] = call(database.machine, "seconds_silent", host="perf-01")
        assert silent == pytest.approx(60.0, abs=30.0)
        assert call(database.machine, "seconds_silent", host="perf-09") == [(None,)]

    def test_the_newest_session_names_the_pairs_that_the_job_asks_for(
        self, store: PostgresStore, database: Database
    ) -> None:
        worklist(database)
        calibrate(store, database, "1", {key(): QUIET})
        reading = PostgresReading(database.owner)
        assert wanted_pairs(reading) == 40
        database.change("""UPDATE build SET spec = jsonb_set(spec, '{config,policy}', '{"probation": 7}')""")
        assert wanted_pairs(reading) == 7
        database.change("UPDATE build SET spec = '{}'")
        assert wanted_pairs(reading) == 40


class TestIdlePools:
    @pytest.fixture
    def checked(self, store: PostgresStore, database: Database) -> int:
        """A machine, and a checked branch."""
        worklist(database)
        [build] = queue(store, CHECK)
        with store.transaction() as tx:
            tx.builds.finish(build, Outcome.PASSED, [])
        return build

    def test_a_recently_checked_branch_may_be_calibrated(self, upkeep: PostgresUpkeep, checked: int) -> None:
        (job,) = upkeep.idle_jobs(ASKED_WITHIN)
        assert (job.branch, job.job, job.config) == (BRANCH, "cv-perf", CONFIG)
        assert (job.since, job.pairs, job.sessions, job.is_due) == (None, 0, 0, True)

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE build SET state = 'queued'",
            "UPDATE build SET state = 'running', machine = 'perf-01'",
            "UPDATE machine SET last_seen_at = now() - interval '2 min'",
            "UPDATE machine SET pool = 'other'",
            "UPDATE machine SET obstacle = 'steal of 20 %'",
            "UPDATE run SET created_at = now() - interval '8 days'",
            "UPDATE run SET kind = 'post-submit'",
            "UPDATE build SET kind = 'command'",
            "UPDATE build SET kind = 'ctest', is_exclusive = false",
        ],
    )
    def test_no_job_is_idle_without_a_free_machine_or_a_recent_check(
        self, upkeep: PostgresUpkeep, database: Database, checked: int, change: str
    ) -> None:
        database.change(change)
        assert upkeep.idle_jobs(ASKED_WITHIN) == []

    def test_the_least_known_series_counts_from_an_hour_to_a_day_after_the_last_session(
        self, store: PostgresStore, upkeep: PostgresUpkeep, database: Database, checked: int
    ) -> None:
        calibrate(store, database, "1", {key(): QUIET, key("BM_gone"): QUIET})
        calibrate(store, database, "2", {key(): QUIET, key("BM_b"): ALARM})
        for hours, known in ((0, (0, 0)), (2, (4, 1)), (25, (0, 0))):
            age(database, hours * 60)
            (job,) = upkeep.idle_jobs(ASKED_WITHIN)
            assert (job.pairs, job.sessions) == known

    def test_a_hindered_machine_leaves_the_other_of_its_pool_without_a_spare(
        self, upkeep: PostgresUpkeep, database: Database, checked: int
    ) -> None:
        worklist(database, "perf-02")
        found = {job.machine: job.is_spare for job in upkeep.idle_jobs(ASKED_WITHIN)}
        assert found == {"perf-01": True, "perf-02": False}
        database.change("UPDATE machine SET obstacle = 'steal of 20 %' WHERE name = 'perf-02'")
        found = {job.machine: job.is_spare for job in upkeep.idle_jobs(ASKED_WITHIN)}
        assert found == {"perf-01": False}

    def test_each_idle_machine_but_the_one_calibrated_last_may_measure(
        self, store: PostgresStore, upkeep: PostgresUpkeep, database: Database, checked: int
    ) -> None:
        """One stays free for the next build; a calibration for one machine does not hold the others up."""

        def idle() -> list[str]:
            return sorted(machine for _, machine in due_branches(upkeep.idle_jobs(ASKED_WITHIN)))

        for name in ("perf-02", "perf-03", "perf-04"):
            worklist(database, name)
        assert idle() == ["perf-02", "perf-03", "perf-04"]
        with store.transaction() as tx:
            run = start(tx, replace(calibration_run(), machine="perf-03"))
            build = tx.builds.add(run, 0, replace(calibration("1"), for_machine="perf-03"))
        assert idle() == ["perf-02", "perf-04"]
        assert worklist(database, "perf-01").claim() is None
        with claimed(worklist(database, "perf-03")):
            assert idle() == ["perf-02", "perf-04"]
        with store.transaction() as tx:
            tx.builds.finish(build, Outcome.PASSED, [])
            tx.runs.end(run, RunState.FINISHED)
        assert idle() == ["perf-01", "perf-02", "perf-04"]

    def test_a_machine_waits_since_its_own_last_session_on_any_branch(
        self, store: PostgresStore, upkeep: PostgresUpkeep, database: Database, checked: int
    ) -> None:
        for name, branch, minutes in (("perf-02", "other", 30), ("perf-03", "master", 5)):
            worklist(database, name)
            with store.transaction() as tx:
                run = start(tx, replace(calibration_run(), machine=name, branch=branch))
                tx.builds.finish(tx.builds.add(run, 0, calibration("1")), Outcome.PASSED, [])
                tx.runs.end(run, RunState.FINISHED)
            database.change(
                "UPDATE run SET created_at = now() - make_interval(mins => :age) WHERE machine = :name",
                age=minutes,
                name=name,
            )
        found = {job.machine: job.since for job in upkeep.idle_jobs(ASKED_WITHIN)}
        half_an_hour, just_now = pytest.approx(1800, abs=60), pytest.approx(300, abs=60)
        assert found == {"perf-01": None, "perf-02": half_an_hour, "perf-03": just_now}

    def test_a_renamed_benchmark_is_known_by_its_former_name_too(
        self, store: PostgresStore, upkeep: PostgresUpkeep, database: Database, checked: int
    ) -> None:
        for sequence in "12":
            calibrate(store, database, sequence, {key("BM_old"): QUIET})
        calibrate(store, database, "3", {key("BM_new"): QUIET})
        with store.transaction() as tx:
            tx.measurements.continue_series({key("BM_new"): key("BM_old")})
        age(database, 120)
        (job,) = upkeep.idle_jobs(ASKED_WITHIN)
        assert (job.pairs, job.sessions) == (9, 3)

    def test_the_last_calibration_is_remembered_whatever_came_of_it(
        self, store: PostgresStore, upkeep: PostgresUpkeep, database: Database, checked: int
    ) -> None:
        with store.transaction() as tx:
            run = start(tx, calibration_run())
            tx.runs.end(run, RunState.REFUSED)
        database.change("UPDATE run SET created_at = now() - interval '30 min' WHERE kind = 'calibration'")
        (job,) = upkeep.idle_jobs(ASKED_WITHIN)
        assert job.since == pytest.approx(1800, abs=60)
        assert not job.is_due

    def test_a_cancelled_one_is_forgotten_after_minutes(
        self, store: PostgresStore, upkeep: PostgresUpkeep, database: Database, checked: int
    ) -> None:
        """It measured nothing; one that was finished before it still counts."""
        calibrate(store, database, "1", {key(): QUIET})
        age = "UPDATE run SET created_at = now() - interval '{0} min' WHERE kind = 'calibration'"
        database.change(age.format(50))
        with store.transaction() as tx:
            run = start(tx, calibration_run())
            build = tx.builds.add(run, 0, calibration("2"))
            tx.builds.finish(build, Outcome.CANCELLED, [])
            tx.runs.end(run, RunState.FINISHED)
        newest = age + f" AND id = {run}"
        database.change(newest.format(9))
        (job,) = upkeep.idle_jobs(ASKED_WITHIN)
        assert job.since == pytest.approx(9 * 60, abs=30)
        database.change(newest.format(11))
        (job,) = upkeep.idle_jobs(ASKED_WITHIN)
        assert job.since == pytest.approx(50 * 60, abs=30)


class TestPreemption:
    @pytest.fixture
    def calibrating(self, store: PostgresStore, database: Database) -> int:
        """A calibration that the pool's only machine holds."""
        with store.transaction() as tx:
            build = tx.builds.add(start(tx, calibration_run()), 0, calibration("1"))
        with claimed(worklist(database)):
            pass
        return build

    def test_a_silent_machine_is_not_free(
        self, store: PostgresStore, upkeep: PostgresUpkeep, database: Database, calibrating: int
    ) -> None:
        queue(store, CHECK)
        worklist(database, "perf-02")
        database.change("UPDATE machine SET last_seen_at = now() - interval '1 h' WHERE name = 'perf-02'")
        assert upkeep.preempt_calibrations() == [calibrating]

    def test_only_calibrations_are_preempted(
        self, store: PostgresStore, upkeep: PostgresUpkeep, database: Database
    ) -> None:
        queue(store, CHECK, replace(CHECK, job="other"))
        with claimed(worklist(database)):
            pass
        assert upkeep.preempt_calibrations() == []


def test_a_calibration_that_waits_is_not_reported(store: PostgresStore, database: Database) -> None:
    worklist(database)
    with store.transaction() as tx:
        tx.changes.upsert(change())
        tx.builds.add(start(tx, calibration_run()), 0, calibration("1"))
    (waiting,) = PostgresReading(database.owner).condition().queues
    assert (waiting.pool, waiting.waiting) == ("perf", 0)


def test_the_previous_version_of_the_code_still_works(database: Database) -> None:
    """Parts that are not upgraded yet store runs without a pool."""
    database.change(
        """INSERT INTO run (kind, state, instance, project, branch, revision)
           VALUES ('post-submit', 'planning', 'review', 'kv', 'master', '1')"""
    )
    assert database.value("SELECT pool FROM run") == ""


def wanted_pairs(reading: PostgresReading) -> object:
    """The pairs that the newest session's job asks for, of a series on probation."""
    why_not = reading.voting_statuses(1)[0].voting_status.why_not
    assert why_not is not None
    assert why_not.kind is ReasonKind.ON_PROBATION
    return why_not.facts[1]
