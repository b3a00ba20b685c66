from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from bench.plans import scans_of
from service.adapters.postgres.reading.reading import PostgresReading
from service.domain.errors import NotFound, Transient
from service.domain.health import Patience
from service.domain.identity import BuildName
from service.domain.inference.reasons import Reason, ReasonKind
from service.domain.search import parse_words
from service.domain.wording.health import degradation_sentences
from service.ports.views import Cursor
from tests.contract.reading import CHANGE, PARENT, MeasuredPatchSetsContract

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration
NOW = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
NASTY = "BM_<img src=x>'; DROP TABLE series; --%_\\"


@pytest.fixture
def reading(database: Database) -> PostgresReading:
    return PostgresReading(database.owner)


def add_change(database: Database, number: int, *, minutes: int = 0, patch_sets: int = 1) -> int:
    change: int = database.value(
        """INSERT INTO change (instance, number, project, branch, change_id, subject, owner, status,
                               is_wip, is_private, updated_at)
           VALUES ('gerrit', :number, 'kv', 'master', 'I1', 'Make it faster', 'Dana', 'NEW',
                   false, false, :at)
           RETURNING id""",
        number=number,
        at=NOW + timedelta(minutes=minutes),
    )
    for each in range(1, patch_sets + 1):
        add_patch_set(database, change, each, f"{number}-{each}")
    return change


def add_patch_set(database: Database, change: int, number: int, revision: str) -> None:
    database.change(
        """INSERT INTO patch_set (change_id, number, revision, ref, kind, author, subject, message)
           VALUES (:change, :number, :revision, 'refs/changes/1', 'REWORK', 'Dana', 'Make it faster',
                   'body')""",
        change=change,
        number=number,
        revision=revision,
    )


def add_run(database: Database, revision: str, *, kind: str = "check", state: str = "finished") -> int:
    run: int = database.value(
        """INSERT INTO run (kind, state, patch_set_id, instance, project, branch, revision, subject, author)
           VALUES (:kind, :state, (SELECT id FROM patch_set WHERE revision = :revision), 'gerrit', 'kv',
                   'master', :revision, 'Make it faster', 'Dana') RETURNING id""",
        kind=kind,
        state=state,
        revision=revision,
    )
    return run


def add_build(database: Database, run: int, number: int, result: str | None, *causes: str) -> int:
    build: int = database.value(
        """INSERT INTO build (job, number, kind, pool, priority, state, is_voting, spec, result, causes,
                              deadline_at, created_at)
           VALUES ('perf', :number, 'benchmark', 'perf', 1, :state, true,
                   '{"config": {"kind": "benchmark", "suites": [{"name": "s", "program": "p"}],
                             "policy": {"floor": "2%"}}}', :result, to_jsonb(cast(:causes AS text[])),
                   :at, :at) RETURNING id""",
        number=number,
        state="finished" if result else "queued",
        result=result,
        causes=list(causes),
        at=NOW + timedelta(minutes=number),
    )
    database.change(
        "INSERT INTO run_build (run_id, job, build_id, position) VALUES (:run, :job, :build, :number)",
        run=run,
        job=f"perf{number}",
        build=build,
        number=number,
    )
    return build


def add_decision(database: Database, run: int, number: int, vote: int | None) -> None:
    database.change(
        """INSERT INTO decision (run_id, patch_set_id, number, vote, header, message)
           SELECT :run, patch_set_id, :number, :vote, 'Build Failed', 'text' FROM run WHERE id = :run""",
        run=run,
        number=number,
        vote=vote,
    )


def add_series(database: Database, benchmark: str) -> int:
    series: int = database.value(
        """INSERT INTO series (digest, instance, project, branch, machine_class, job, suite, benchmark,
                               metric, unit, better)
           VALUES (sha256(convert_to(:benchmark, 'UTF8')), 'gerrit', 'kv', 'master', 'epyc', 'perf',
                   'executor', :benchmark, 'items_per_second', '1/s', 'higher') RETURNING id""",
        benchmark=benchmark,
    )
    return series


def add_comparison(database: Database, build: int, series: int, kind: int = 0) -> None:
    database.change(
        """INSERT INTO comparison (measured_at, series_id, build_id, kind, position, pairs, verdict,
                                   ratio, low, high, base, patch)
           SELECT created_at, :series, id, :kind, 1000 - :series, 8, 'slower', 0.9, 0.88, 0.92, 10, 9
           FROM build WHERE id = :build""",
        build=build,
        series=series,
        kind=kind,
    )
    for side in (0, 1):
        database.change(
            """INSERT INTO result (measured_at, build_id, series_id, side, samples)
               SELECT created_at, id, :series, :side, ARRAY[10 - :side, NULL, 11 - :side]
               FROM build WHERE id = :build""",
            build=build,
            series=series,
            side=side,
        )


class PostgresStage:
    def __init__(self, database: Database) -> None:
        self.reading = PostgresReading(database.owner)
        self._database = database
        self._rounds = 0
        self._series: dict[str, int] = {}
        self._change = add_change(database, CHANGE, patch_sets=0)

    def measure(self, patch_set: int, *benchmarks: str, parent: str = PARENT, is_check: bool = True) -> None:
        self._rounds += 1
        revision = f"{CHANGE}-{patch_set}"
        if not self._database.rows("SELECT FROM patch_set WHERE revision = :revision", revision=revision):
            add_patch_set(self._database, self._change, patch_set, revision)
        run = add_run(self._database, revision, kind="check" if is_check else "post-submit")
        self._database.change("UPDATE run SET parent = :parent WHERE id = :run", parent=parent, run=run)
        build = add_build(self._database, run, self._rounds, "SUCCESS")
        for name in reversed(benchmarks):  # a comparison's position falls as its series' id rises
            if name not in self._series:
                self._series[name] = add_series(self._database, name)
            add_comparison(self._database, build, self._series[name], 0 if is_check else 1)


class TestMeasuredPatchSets(MeasuredPatchSetsContract):
    @pytest.fixture
    def stage(self, database: Database) -> PostgresStage:
        return PostgresStage(database)

    def test_reading_them_is_one_query(self, database: Database, stage: PostgresStage) -> None:
        for number in (1, 2, 3):
            stage.measure(number, "BM_a", "BM_b")
        sent: list[str] = []
        event.listen(database.owner, "before_cursor_execute", lambda *args: sent.append(args[2]))
        stage.reading.measured_patch_sets(CHANGE, 9)
        assert len(sent) == 1

    def test_each_build_is_looked_up_where_its_month_is(
        self, database: Database, stage: PostgresStage
    ) -> None:
        database.change("SELECT ensure_partitions('2026-01-01', 24)")
        for number in (1, 2):
            stage.measure(number, *(f"BM_{k}" for k in range(20)))
        scans = scans_of(database.owner, lambda: stage.reading.measured_patch_sets(CHANGE, 9), "comparison")
        assert {scan.table for scan in scans if scan.was_run} == {"comparison_2026_11"}


def test_an_empty_store_has_nothing_to_show(reading: PostgresReading) -> None:
    assert reading.changes(10) == []
    assert reading.series(parse_words(""), 10) == []
    assert reading.machines() == []
    assert reading.condition().queues == ()


def test_a_change_shows_vote_and_worst_cause_of_its_newest_patch_set(
    database: Database, reading: PostgresReading
) -> None:
    add_change(database, 7, patch_sets=2)
    add_decision(database, add_run(database, "7-1"), 1, -1)
    run = add_run(database, "7-2")
    add_build(database, run, 1, "SUCCESS", "all the same")
    add_build(database, run, 2, "FAILURE", "2 of 20 slower", "more")
    add_decision(database, run, 1, -1)
    add_decision(database, run, 2, 1)
    (change,) = reading.changes(10)
    assert (change.number, change.patch_set, change.vote, change.cause) == (7, 2, 1, "2 of 20 slower")
    assert (change.builds, change.finished_builds, change.run_state) == (2, 2, "finished")


def test_what_is_measured_after_the_merge_takes_no_vote_away(
    database: Database, reading: PostgresReading
) -> None:
    add_change(database, 7)
    add_decision(database, add_run(database, "7-1"), 1, 1)
    add_decision(database, add_run(database, "7-1", kind="post-submit"), 2, None)
    assert [change.vote for change in reading.changes(5)] == [1]
    assert [each.vote for each in reading.change(7).patch_sets] == [1]


def test_changes_are_paged_by_time_also_where_times_are_equal(
    database: Database, reading: PostgresReading
) -> None:
    for number, minutes in ((1, 5), (2, 5), (3, 5), (4, 9), (5, 1)):
        add_change(database, number, minutes=minutes)
    seen: list[int] = []
    after: Cursor | None = None
    while page := reading.changes(2, after):
        seen += [change.number for change in page]
        after = Cursor.decode(Cursor(page[-1].updated_at, page[-1].id).encode())
    assert seen == [4, 3, 2, 1, 5]


def test_a_patch_set_comes_with_decisions_runs_and_the_builds_of_its_newest_check(
    database: Database, reading: PostgresReading
) -> None:
    add_change(database, 7, patch_sets=2)
    first, second = add_run(database, "7-1"), add_run(database, "7-1")
    add_build(database, first, 1, "FAILURE", "old")
    add_build(database, second, 2, "SUCCESS", "new")
    add_run(database, "7-1", kind="post-submit")
    add_decision(database, first, 1, -1)
    add_decision(database, second, 2, 1)
    found = reading.patch_set(7, 1)
    assert [build.causes for build in found.builds] == [("new",)]
    assert found.builds[0].floor == pytest.approx(0.02)
    assert [(decision.number, decision.vote) for decision in found.decisions] == [(2, 1), (1, -1)]
    assert [run.kind for run in found.runs] == ["post-submit", "check", "check"]
    assert (found.patch_set.vote, found.message) == (1, "body")
    assert reading.patch_set(7).patch_set.number == 2
    assert [each.vote for each in reading.change(7).patch_sets] == [1, None]


def test_a_run_and_a_build_lead_to_each_other(database: Database, reading: PostgresReading) -> None:
    add_change(database, 7)
    run = add_run(database, "7-1")
    add_build(database, run, 3, "SUCCESS")
    found = reading.build("perf", 3)
    assert [(each.id, each.change, each.patch_set) for each in found.runs] == [(run, 7, 1)]
    assert [build.number for build in reading.run(run).builds] == [3]


def test_comparisons_and_samples_of_a_build(database: Database, reading: PostgresReading) -> None:
    add_change(database, 7)
    build = add_build(database, add_run(database, "7-1"), 3, "SUCCESS")
    one, two = add_series(database, NASTY), add_series(database, "BM_two")
    add_comparison(database, build, one)
    add_comparison(database, build, two)
    at = reading.build("perf", 3).build.created_at
    rows = reading.comparisons(build, at)
    assert [(row.series_id, row.benchmark) for row in rows] == [(two, "BM_two"), (one, NASTY)]
    samples = reading.samples(build, at, one)
    assert (samples.base, samples.patch) == ((10.0, None, 11.0), (9.0, None, 10.0))


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (None, "old text"),
        ([Reason(ReasonKind.NO_PAIR).to_mapping(), Reason(ReasonKind.FAILS, (NASTY,)).to_mapping()], None),
        ([{"kind": "of a later version", "facts": []}], "old text"),
    ],
)
def test_typed_reasons_are_worded_and_others_are_read_as_text(
    database: Database, reading: PostgresReading, stored: list[dict[str, Any]] | None, reason: str | None
) -> None:
    add_change(database, 7)
    build = add_build(database, add_run(database, "7-1"), 3, "SUCCESS")
    add_comparison(database, build, add_series(database, "BM_one"))
    database.change(
        "UPDATE comparison SET reason = 'old text', reasons = CAST(:stored AS jsonb)",
        stored=None if stored is None else json.dumps(stored),
    )
    (row,) = reading.comparisons(build, reading.build("perf", 3).build.created_at)
    assert row.reason == (reason or f"no pair has a result on both sides; {NASTY}")


def test_a_trend_holds_the_newest_points_of_each_kind_with_their_commits(
    database: Database, reading: PostgresReading
) -> None:
    add_change(database, 7)
    series = add_series(database, "BM_x")
    checked, merged = add_run(database, "7-1"), add_run(database, "7-1", kind="post-submit")
    for number in range(1, 6):
        add_comparison(database, add_build(database, checked, number, "SUCCESS"), series, kind=0)
    for number in range(6, 11):
        add_comparison(database, add_build(database, merged, number, "SUCCESS"), series, kind=1)
    points = reading.trend(series, 3).points
    assert [(point.kind, point.number) for point in points] == [
        ("check", 3), ("check", 4), ("check", 5), ("post-submit", 8), ("post-submit", 9), ("post-submit", 10),
    ]  # fmt: skip
    assert {(point.subject, point.author, point.change, point.revision) for point in points} == {
        ("Make it faster", "Dana", 7, "7-1")
    }


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("", 3),
        ("bm_", 3),
        ("DROP table", 1),
        ("%_\\", 1),
        ("%", 1),
        ("bm -drop", 2),
        ("kv master items", 3),
        ("nowhere", 0),
    ],
)
def test_series_are_found_by_words_as_they_are_written(
    database: Database, reading: PostgresReading, search: str, found: int
) -> None:
    for name in ("BM_<img>'; DROP TABLE series; --%_\\", "BM_two", "BM_three"):
        add_series(database, name)
    assert len(reading.series(parse_words(search), 10)) == found


def test_what_does_not_exist_is_not_found(reading: PostgresReading) -> None:
    for ask in (
        lambda: reading.change(1),
        lambda: reading.patch_set(1),
        lambda: reading.change(1 << 40),
        lambda: reading.run(1 << 70),
        lambda: reading.build("perf", 1),
        lambda: reading.build("a\0b", 1),
        lambda: reading.samples(1, NOW, 1),
        lambda: reading.trend(1, 10),
    ):
        with pytest.raises(NotFound):
            ask()


def test_the_condition_tells_what_waits(database: Database, reading: PostgresReading) -> None:
    add_change(database, 7)
    add_build(database, add_run(database, "7-1", state="running"), 1, None)
    database.change("INSERT INTO machine (name, class, pool) VALUES ('perf-01', 'epyc', 'other')")
    database.change("INSERT INTO event (instance, digest, type, body) VALUES ('g', 'd', 't', 'b')")
    database.change("INSERT INTO outbox (kind, payload) VALUES ('review', '{}'), ('task', '{}')")
    database.change(
        "INSERT INTO setback VALUES ('vote', 1, 9, now(), true, 'x'), ('vote', 2, 1, now(), false, 'x')"
    )
    database.change("INSERT INTO pulse VALUES ('schedule', now(), '')")
    found = reading.condition()
    assert [(queue.pool, queue.waiting) for queue in found.queues] == [("other", 0), ("perf", 1)]
    assert (found.unsent_reviews, found.abandoned_steps) == (1, 1)
    assert found.oldest_unhandled_event_at is not None
    assert "Pool perf has no machine: one build waits." in degradation_sentences(found, Patience())


def test_a_machine_shows_the_build_it_holds(database: Database, reading: PostgresReading) -> None:
    add_change(database, 7)
    build = add_build(database, add_run(database, "7-1", state="running"), 4, None)
    database.change("INSERT INTO machine (name, class, pool) VALUES ('perf-01', 'epyc', 'perf')")
    database.change(
        "INSERT INTO lease VALUES (:build, 'perf-01', 1, now(), now() + interval '1 minute')", build=build
    )
    assert [(each.name, each.build) for each in reading.machines()] == [("perf-01", BuildName("perf", 4))]


def test_reading_cannot_write(database: Database, reading: PostgresReading) -> None:
    with reading._snapshot() as connection:  # noqa: SLF001 - what every method stands on
        assert connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on"
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "repeatable read"


def test_a_query_that_the_server_ends_is_transient(reading: PostgresReading) -> None:
    with pytest.raises(Transient), reading._snapshot() as connection:  # noqa: SLF001 - ditto
        connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
