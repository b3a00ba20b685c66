"""Contract of ``Retention``: old records go, and what somebody may still need stays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import pytest
from sqlalchemy import event

from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.runs.retention import PostgresRetention
from service.adapters.postgres.store import PostgresStore
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import Scope, TriageState
from service.domain.failures.signature import signature_of
from service.domain.runs.retention import Kind, policy_with
from service.domain.runs.vote import Outcome
from service.ports.access import Author
from service.ports.failures.storing import BuildFailures, KnownChange, NewKnown
from tests.support.memory.retention import DAY, MemoryRecord, MemoryRetention
from tests.support.store_samples import change, check_run, named, post_submit_run, start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.ports.runs.retention import Retention
    from service.ports.store import Transaction
    from tests.support.postgres import Database, Server

A, B, C = "a" * 64, "b" * 64, "c" * 64
MERGED: Final = {Kind.MERGED_PROGRAMS, Kind.MERGED_PAIRS, Kind.MERGED_SAMPLES}
NAMES_ARTIFACTS: Final = (
    Kind.LOGS,
    Kind.FAILED_LOGS,
    *(kind for kind in Kind if kind.stored_as in {"pairs", "programs"}),
)


def failure_of_job(job: str) -> Failure:
    return Failure(FailureKind.TEST, job, "it failed")


def make_known(tx: Transaction, failure: Failure, state: str = "confirmed") -> int:
    scope = Scope(instance="review", project="kv_engine")
    author = Author(account="1000003", name="Bob")
    new = NewKnown(signature=signature_of(failure), scope=scope, bug="MB-1", reason="flaky", days=1)
    known = tx.known.make(new, author)
    tx.known.change(known.id, KnownChange(state=TriageState(state), bug="MB-1", assignee=""), author)
    return known.id


class Site(Protocol):
    @property
    def retention(self) -> Retention: ...

    def add(self, kind: Kind, *artifacts: str, days: float, is_held: bool = False) -> None:
        """Add a record that ended some days ago; somebody may still need one that is held."""


@dataclass
class MemorySite:
    retention: MemoryRetention = field(default_factory=MemoryRetention)

    def add(self, kind: Kind, *artifacts: str, days: float, is_held: bool = False) -> None:
        self.retention.records.append(MemoryRecord(kind, days, artifacts, is_held))


class PostgresSite:
    def __init__(self, database: Database) -> None:
        self.retention = PostgresRetention(database.owner)
        self.store = PostgresStore(database.owner)
        self.database = database
        self._added = 0

    def add(self, kind: Kind, *artifacts: str, days: float, is_held: bool = False) -> None:
        if kind is Kind.EVENTS:
            self._added += 1
            self.database.change(
                "INSERT INTO event (instance, type, digest, body, received_at, handled_at) VALUES"
                " ('review', 'x', decode(:digest, 'escape'), '', now() - make_interval(secs => :age),"
                " CASE WHEN NOT :is_held THEN now() END)",
                digest=str(self._added),
                age=days * DAY,
                is_held=is_held,
            )
            return
        build = self.add_build(
            days,
            status="NEW" if is_held else "ABANDONED",
            result="SUCCESS" if kind is Kind.LOGS else "FAILURE",
            is_merged=kind in MERGED,
        )
        self.leave(kind, build, *artifacts, days=days)
        if is_held and kind in MERGED:
            self.database.change("UPDATE run SET state = 'running' WHERE id = (SELECT max(id) FROM run)")

    def add_build(
        self, days: float, *, status: str = "ABANDONED", result: str = "SUCCESS", is_merged: bool = False
    ) -> int:
        """Add a build of a change or of a merged commit that ended some days ago."""
        self._added += 1
        job, age = f"job-{self._added}", days * DAY
        with self.store.transaction() as tx:
            if is_merged:
                run = start(tx, post_submit_run(f"{self._added:040x}"))
            else:
                run = start(tx, check_run(tx.changes.upsert(change(self._added)).patch_set_id))
            build = tx.builds.add(run, 0, named(job, sequence=f"{self._added:064x}"))
        since = "now() - make_interval(secs => :age)"
        self.database.change(
            f"UPDATE change SET status = :status, updated_at = {since} WHERE number = :number",  # noqa: S608
            status=status,
            number=self._added,
            age=age,
        )
        self.database.change("UPDATE run SET state = 'finished' WHERE id = :run", run=run)
        self.database.change(
            f"UPDATE build SET state = 'finished', result = :result, finished_at = {since} WHERE id = :build",  # noqa: S608
            result=result,
            age=age,
            build=build,
        )
        return build

    def leave(self, kind: Kind, build: int, *artifacts: str, days: float) -> None:
        """Let a build leave a record that names artifacts."""
        for number, artifact in enumerate(artifacts if kind.stored_as in LEFT else ()):
            self.database.change(
                LEFT[kind.stored_as], build=build, number=number, artifact=artifact, age=days * DAY
            )
        if kind.stored_as == "logs":
            self.database.change("INSERT INTO log_end VALUES (:build, 1, 0, 0, '')", build=build)
            self.database.change("INSERT INTO explanation VALUES (:build, '')", build=build)
        if kind is Kind.FAILURES:
            self.fail(build)
        if kind.stored_as == "samples":
            self.compare(build, series=1, error=0.01)

    def compare(self, build: int, *, series: int, error: float | None) -> None:
        """Let a build have a comparison with samples of both sides."""
        self.database.change(
            "INSERT INTO comparison (measured_at, build_id, series_id, kind, position, pairs, verdict, error)"
            " SELECT created_at, id, :series, 0, 0, 8, 'same', :error FROM build WHERE id = :build",
            build=build,
            series=series,
            error=error,
        )
        self.database.change(
            "INSERT INTO result SELECT created_at, id, :series, side, '{1}'"
            " FROM build CROSS JOIN (VALUES (0), (1)) AS of (side) WHERE id = :build",
            build=build,
            series=series,
        )

    def fail(self, build: int, *, is_matched: bool = False) -> None:
        """Let a build have one failure of its own, which a known failure may match."""
        failure = failure_of_job(f"build-{build}")
        with self.store.transaction() as tx:
            tx.failures.store_failures(build, BuildFailures((failure,)))
            if is_matched:
                tx.failures.keep_matches(build, {(build, 0): make_known(tx, failure)})


LEFT: Final = {
    "logs": "INSERT INTO log_chunk SELECT :build, 1, :number, :number * 10, 0, 10, :artifact WHERE :age > -1",
    "pairs": "INSERT INTO launch (sequence_id, variant, pair, suite, side, build_id, artifact, facts)"
    " SELECT sequence_id, 0, :number, 's', side, id, :artifact, '{}'"
    " FROM build CROSS JOIN (VALUES ('base'), ('patch')) AS of (side) WHERE id = :build AND :age > -1",
    "programs": "INSERT INTO kept_binary (digest, artifact, manifest, build_id, last_used_at)"
    " VALUES (concat(:build, ' ', :number), :artifact, '{}', :build, now() - make_interval(secs => :age))",
}


class TestRetention:
    @pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.integration)])
    def site(self, request: pytest.FixtureRequest) -> Iterator[Site]:
        if request.param == "memory":
            yield MemorySite()
            return
        server: Server = request.getfixturevalue("server")
        with server.database() as database:
            yield PostgresSite(database)

    def test_records_go_after_their_days_with_no_others_and_a_few_at_a_time(self, site: Site) -> None:
        for kind in Kind:
            for days in (99, 101, 102, 103):
                site.add(kind, A, days=days)
        for kind in Kind:
            others = {each: site.retention.supply(each, 100) for each in Kind if each is not kind}
            assert [site.retention.delete_expired(kind, 100, 2) for _ in range(3)] == [2, 1, 0], kind
            assert {each: site.retention.supply(each, 100) for each in others} == others, kind
            assert (site.retention.supply(kind, 100).records, site.retention.supply(kind, 98).expired) == (
                1,
                1,
            )

    def test_a_supply_tells_records_what_has_expired_and_the_oldest(self, site: Site) -> None:
        for kind in Kind:
            assert site.retention.supply(kind, 9).oldest_at is None
            for days, is_held in ((8, False), (10, False), (12, True)):
                site.add(kind, A, days=days, is_held=is_held and kind.stored_as != "programs")
            found = site.retention.supply(kind, 11 if kind.stored_as == "programs" else 9)
            assert (found.records, found.expired) == (3, 1), kind
            assert site.retention.supply(kind, None).expired is None
            assert found.oldest_at is not None

    def test_what_is_held_stays_however_old_it_is(self, site: Site) -> None:
        held = [kind for kind in Kind if kind.stored_as != "programs"]
        for kind in held:
            site.add(kind, A, days=5000, is_held=True)
        assert [site.retention.delete_expired(kind, 7, 9) for kind in held] == [0] * len(held)

    def test_the_days_of_the_schedule_are_stored_for_others(self, site: Site) -> None:
        assert site.retention.kept_policy() is None
        for given in ({"pairs": 60}, {"logs": 9}):
            site.retention.keep_policy(policy_with(given))
        assert site.retention.kept_policy() == policy_with({"logs": 9})

    def test_artifacts_have_the_names_of_the_records_that_need_them(self, site: Site) -> None:
        for kind in NAMES_ARTIFACTS:
            site.add(kind, f"a{kind.encode().hex():0<63}", B, days=1)
        assert site.retention.named("a") == {
            f"a{kind.encode().hex():0<63}": kind.stored_as for kind in NAMES_ARTIFACTS
        }
        assert set(site.retention.named("bb")) == {B}

    def test_artifacts_of_expired_records_can_be_left_out(self, site: Site) -> None:
        for place, kind in enumerate(NAMES_ARTIFACTS):
            for days in (800, 1200):
                site.add(kind, f"{place}{days:0<63}", B, days=days)
        without = policy_with(dict.fromkeys(NAMES_ARTIFACTS, 1000))
        for place in range(len(NAMES_ARTIFACTS)):
            assert set(site.retention.named(str(place), without)) == {f"{place}{800:0<63}"}
        assert set(site.retention.named("b", without)) == {B}
        assert site.retention.named("b", policy_with(dict.fromkeys(NAMES_ARTIFACTS, 700))).keys() == set()


@pytest.fixture
def site(server: Server) -> Iterator[PostgresSite]:
    with server.database() as database:
        yield PostgresSite(database)


@pytest.mark.integration
def test_a_build_that_was_overridden_keeps_its_log_failures_and_pairs(site: PostgresSite) -> None:
    overridden, other = (site.add_build(days=5000, result="FAILURE") for _ in range(2))
    kinds = (Kind.FAILED_LOGS, Kind.FAILURES, Kind.PAIRS)
    for kind in kinds:
        for build in (overridden, other):
            site.leave(kind, build, A, days=5000)
    site.database.change(
        "INSERT INTO ruling (patch_set_id, kind, account, person, builds)"
        " SELECT min(patch_set_id), 'override', '1', 'Ann', ARRAY[:build] FROM run",
        build=overridden,
    )
    assert [site.retention.delete_expired(kind, 90, 9) for kind in kinds] == [1, 1, 1]
    for table in ("log_end", "explanation", "failure", "launch"):
        assert set(site.database.rows(f"SELECT build_id FROM {table}")) == {(overridden,)}  # noqa: S608


@pytest.mark.integration
def test_an_explanation_that_may_answer_claims_stays_without_its_log(site: PostgresSite) -> None:
    asked, other = (site.add_build(days=5000) for _ in range(2))
    for build in (asked, other):
        site.leave(Kind.LOGS, build, A, days=5000)
    claimed = """UPDATE build SET spec = spec || '{"claimed_names": ["BM_a"]}' WHERE id = :build"""
    site.database.change(claimed, build=asked)
    assert site.retention.delete_expired(Kind.LOGS, 90, 9) == 2
    assert site.database.rows("SELECT build_id FROM explanation") == [(asked,)]
    assert site.database.rows("SELECT build_id FROM log_end") == []


@pytest.mark.integration
def test_failures_that_a_known_failure_matched_stay(site: PostgresSite) -> None:
    site.fail(site.add_build(days=500), is_matched=True)
    assert site.retention.delete_expired(Kind.FAILURES, 400, 9) == 0


@pytest.mark.integration
def test_what_a_recheck_replaced_stays_until_the_change_is_closed(site: PostgresSite) -> None:
    held = (Kind.FAILED_LOGS, Kind.FAILURES, Kind.PAIRS, Kind.SAMPLES)
    build = site.add_build(days=500, status="NEW", result="FAILURE")
    for kind in (*held, Kind.PROGRAMS):
        site.leave(kind, build, A, days=500)
    with site.store.transaction() as tx:
        [(run,)] = site.database.rows("SELECT run_id FROM run_build")
        again = tx.builds.add(run, 0, named("again", sequence="9" * 64))
        tx.builds.finish(again, Outcome.PASSED, [])
        tx.builds.put(run, 0, tx.builds.lock(build).job, again, None)
    site.database.change("DELETE FROM run_build WHERE job = 'again'")
    assert [site.retention.delete_expired(kind, 400, 9) for kind in held] == [0, 0, 0, 0]
    site.database.change("UPDATE change SET status = 'MERGED'")
    others = (Kind.PROGRAMS, Kind.PAIRS, Kind.SAMPLES)
    assert [site.retention.delete_expired(kind, 400, 9) for kind in others] == [0, 0, 0]
    kinds = (*held[:2], Kind.MERGED_PROGRAMS, Kind.MERGED_PAIRS, Kind.MERGED_SAMPLES)
    assert [site.retention.delete_expired(kind, 400, 9) for kind in kinds] == [1, 1, 1, 1, 1]


@pytest.mark.integration
def test_what_a_regression_left_stays_until_it_is_fixed(site: PostgresSite) -> None:
    kinds = (Kind.FAILED_LOGS, Kind.FAILURES, Kind.MERGED_PAIRS, Kind.MERGED_SAMPLES)
    build = site.add_build(days=500, result="FAILURE", is_merged=True)
    for kind in kinds:
        site.leave(kind, build, A, days=500)
    site.database.change(
        "WITH one AS (INSERT INTO series (digest, instance, project, branch, machine_class, job, suite,"
        " benchmark, metric, unit, better)"
        " VALUES ('', '', '', '', '', '', '', '', '', '', 'lower') RETURNING id),"
        " found AS (INSERT INTO regression (run_id, state, weight) SELECT id, 'fixed', '' FROM run"
        " RETURNING id) INSERT INTO regressed_result (regression_id, build_id, series_id, gate_said, weight)"
        " SELECT found.id, :build, one.id, '', '' FROM found, one",
        build=build,
    )
    assert [site.retention.delete_expired(kind, 90, 9) for kind in kinds] == [0, 0, 0, 0]
    site.database.change("UPDATE regression SET fixed_at = now()")
    assert [site.retention.delete_expired(kind, 90, 9) for kind in kinds] == [1, 1, 1, 1]


@pytest.mark.integration
def test_a_build_of_the_same_trees_starts_a_new_sequence_once_the_pairs_are_gone(site: PostgresSite) -> None:
    build = site.add_build(days=500)
    site.leave(Kind.PAIRS, build, A, B, days=500)
    digest, old = site.database.rows("SELECT digest, id FROM sequence")[0]
    assert site.retention.delete_expired(Kind.PAIRS, 90, 9) == 1
    assert site.database.value("SELECT count(*) FROM launch") == 0
    with site.store.transaction() as tx:
        run = start(tx, post_submit_run())
        again = tx.builds.lock(tx.builds.add(run, 0, named("again", sequence=digest)))
    assert again.sequence_id not in {None, old}


@pytest.mark.integration
def test_a_build_that_is_repeated_draws_a_new_sequence_once_the_pairs_are_gone(site: PostgresSite) -> None:
    build = site.add_build(days=500)
    digest, old = site.database.rows("SELECT digest, id FROM sequence")[0]

    def repeat() -> int | None:
        with site.store.transaction() as tx:
            again = tx.builds.lock(tx.builds.repeat(tx.builds.lock(build), None, 60.0))
        return again.sequence_id

    assert repeat() == old
    site.database.change("UPDATE build SET state = 'finished', finished_at = now() - interval '500 days'")
    site.leave(Kind.PAIRS, build, A, days=500)
    assert site.retention.delete_expired(Kind.PAIRS, 90, 9) == 1
    assert repeat() == site.database.value("SELECT id FROM sequence WHERE digest = :digest", digest=digest)


@pytest.mark.integration
def test_pairs_that_a_build_is_about_to_continue_stay(site: PostgresSite) -> None:
    site.leave(Kind.PAIRS, site.add_build(days=500), A, days=500)
    digest, old = site.database.rows("SELECT digest, id FROM sequence")[0]
    deleted: list[int] = []

    def prune(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO build ") and not deleted:
            deleted.append(-1)
            deleted.append(site.retention.delete_expired(Kind.PAIRS, 90, 9))

    event.listen(site.database.owner, "before_cursor_execute", prune)
    with site.store.transaction() as tx:
        again = tx.builds.lock(
            tx.builds.add(start(tx, post_submit_run()), 0, named("again", sequence=digest))
        )
        deleted.append(site.retention.delete_expired(Kind.PAIRS, 90, 9))
    event.remove(site.database.owner, "before_cursor_execute", prune)
    deleted.append(site.retention.delete_expired(Kind.PAIRS, 90, 9))
    assert (again.sequence_id, deleted) == (old, [-1, 0, 0, 0])


@pytest.mark.integration
def test_samples_from_which_trends_estimate_an_error_stay(site: PostgresSite) -> None:
    build = site.add_build(days=500)
    site.compare(build, series=1, error=0.01)
    site.compare(build, series=2, error=None)
    assert [site.retention.delete_expired(Kind.SAMPLES, 90, 9) for _ in range(2)] == [1, 0]
    assert site.database.rows("SELECT DISTINCT series_id FROM result") == [(2,)]
    assert site.database.value("SELECT count(*) FROM comparison") == 2


@pytest.mark.integration
def test_merged_changes_are_kept_as_merged_commits_are(site: PostgresSite) -> None:
    site.leave(Kind.PAIRS, site.add_build(days=500, status="MERGED"), A, days=500)
    assert [site.retention.delete_expired(kind, 90, 9) for kind in (Kind.PAIRS, Kind.MERGED_PAIRS)] == [0, 1]


@pytest.mark.integration
@pytest.mark.parametrize("state", ["confirmed", "fixed", "invalid", "infrastructure"])
def test_a_signature_that_a_person_judged_stays_and_a_proposal_goes(site: PostgresSite, state: str) -> None:
    builds = [
        site.add_build(days=399 if name == "young" else 401) for name in ("judged", "proposed", "", "young")
    ]
    for build in builds:
        site.fail(build)
    site.database.change("UPDATE signature SET last_seen_at = now() - interval '401 days' WHERE id < 4")
    with site.store.transaction() as tx:
        judged = make_known(tx, failure_of_job(f"build-{builds[0]}"), state)
        make_known(tx, failure_of_job(f"build-{builds[1]}"))
    site.database.change("UPDATE known_failure SET state = 'untriaged' WHERE id <> :id", id=judged)
    assert site.retention.delete_expired(Kind.FAILURES, 400, 9) == 3
    subjects = site.database.rows("SELECT subject FROM signature ORDER BY id")
    assert subjects == [(f"build-{builds[0]}",), (f"build-{builds[3]}",)]
    assert site.database.rows("SELECT id FROM known_failure") == [(judged,)]
    assert site.database.value("SELECT count(*) FROM failure") == 1


@pytest.mark.integration
def test_records_of_builds_name_their_log_and_their_tests(site: PostgresSite) -> None:
    build = site.add_build(days=1)
    site.database.change(
        "UPDATE build SET log = :log, execution = jsonb_build_object('tests', cast(:tests AS text))"
        " WHERE id = :build",
        log=A,
        tests=f"a{B[1:]}",
        build=build,
    )
    assert site.retention.named("a") == {A: "logs", f"a{B[1:]}": "tests"}


@pytest.mark.integration
def test_every_column_with_an_artifact_is_asked(server: Server) -> None:
    """A new column that names artifacts must keep them: add it to the query, and here."""
    with server.database() as database:
        columns = database.rows(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
            " AND (column_name LIKE '%artifact' OR column_name IN ('log', 'tests'))"
        )
    assert set(columns) == {
        ("build", "log"),
        ("kept_binary", "artifact"),
        ("launch", "artifact"),
        ("log_chunk", "artifact"),
        ("unneeded_artifact", "artifact"),  # of the version before
    }


@pytest.mark.integration
def test_sizes_are_those_of_the_tables_and_of_all_parts_of_the_artifacts(site: PostgresSite) -> None:
    site.add(Kind.LOGS, A, days=1)
    site.retention.store_sizes("a", {"logs": [10, 20], "programs": [5]})
    site.retention.store_sizes("b", {"logs": [3]})
    site.retention.store_sizes("a", {"logs": [10]})
    found = {size.name: size for size in PostgresReading(site.database.owner).stored_sizes()}
    assert (found["logs"].artifacts, found["logs"].artifact_bytes) == (2, 13)
    assert found["programs"].artifacts == 0
    assert min(size.database_bytes for size in found.values()) > 0
    assert {"samples", "comparisons"} <= found.keys()
