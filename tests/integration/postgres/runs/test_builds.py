"""Builds, and results in bulk."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.runs.states import BuildState
from service.domain.runs.vote import Outcome
from service.domain.values.identity import RunKind, SeriesKey, Side
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.verdict import StoredResult
from tests.integration.postgres.samples import CLEANED, NASTY
from tests.support.store_samples import compared, named, post_submit_run, queue, start

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from service.ports.runs.builds import BuildRecord
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

UNIT = ("s", "lower")
WHY = Reason(ReasonKind.FAILS, ("why",))


def key(benchmark: str) -> SeriesKey:
    return SeriesKey("review", "kv_engine", "master", "c6i", "cv-perf", "executor", benchmark, "cpu_time")


def test_builds_are_numbered_per_job_without_gaps(store: PostgresStore) -> None:
    with store.transaction() as tx:
        run = start(tx, post_submit_run("a" * 40))

    def add(_: int) -> None:
        with store.transaction() as tx:
            run = start(tx, post_submit_run(f"{_:040d}"))
            tx.builds.add(run, 0, named("a"))
            tx.builds.add(run, 1, named("b"))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(add, range(12)))
    with store.transaction() as tx:
        build = tx.builds.lock(tx.builds.add(run, 0, named("a")))
    assert build.number == 13


def test_an_unneeded_job_is_finished_at_once(store: PostgresStore, database: Database) -> None:
    [build_id] = queue(store, named("lint", outcome=Outcome.NOT_BUILT, causes=("no matching files changed",)))
    with store.transaction() as tx:
        build = tx.builds.lock(build_id)
    assert (build.state, build.outcome) == (BuildState.FINISHED, Outcome.NOT_BUILT)
    assert build.causes == ("no matching files changed",)
    assert database.value("SELECT result FROM build") == "NOT_BUILT"


def test_builds_of_equal_sequence_share_its_pairs_and_seed(store: PostgresStore, database: Database) -> None:
    first, second, other = queue(store, named("a"), named("b"), named("c", sequence="e" * 64))
    with store.transaction() as tx:
        sequences = [tx.builds.lock(build).sequence_id for build in (first, second, other)]
        assert tx.measurements.stored_pairs(sequences[0] or 0) == []
        assert tx.measurements.listings(sequences[0] or 0) == ()
    assert sequences[0] == sequences[1] != sequences[2]
    seeds = database.rows("SELECT seed, digest FROM sequence")
    assert len({seed for seed, _ in seeds}) == 2
    assert all(seed != digest for seed, digest in seeds), "the launch order could be foreseen"


def stored_build(store: PostgresStore) -> BuildRecord:
    [build_id] = queue(store)
    with store.transaction() as tx:
        return tx.builds.lock(build_id)


def test_results_are_stored_with_their_series(store: PostgresStore, database: Database) -> None:
    build = stored_build(store)
    results = [
        StoredResult(key("BM_a"), Side.BASE, (1.5, None, 2.5)),
        StoredResult(key("BM_a"), Side.PATCH, (1.0, 2.0, None)),
    ]
    with store.transaction() as tx:
        tx.measurements.store_results(
            build,
            RunKind.POST_SUBMIT,
            {key("BM_a"): UNIT},
            results,
            [compared(key("BM_a"), Verdict.UNDECIDED, WHY)],
        )
    found = "SELECT side, samples, measured_at FROM result JOIN series ON series.id = series_id ORDER BY side"
    assert database.rows(found) == [
        (0, [1.5, None, 2.5], build.created_at),
        (1, [1.0, 2.0, None], build.created_at),
    ]
    found = "SELECT kind, verdict, pairs, ratio, low, high, base, patch, reason, reasons FROM comparison"
    assert database.rows(found) == [
        (1, "undecided", 8, 1.0, 0.99, 1.01, 2e-6, None, "why", [{"kind": "fails", "facts": ["why"]}])
    ]
    assert database.rows("SELECT benchmark, unit, better FROM series") == [("BM_a", "s", "lower")]


def test_storing_results_again_replaces_them(store: PostgresStore, database: Database) -> None:
    build = stored_build(store)
    for names, value in ((("BM_a", "BM_b"), 1.0), (("BM_b", "BM_c"), 2.0)):
        with store.transaction() as tx:
            tx.measurements.store_results(
                build,
                RunKind.CHECK,
                {key(name): UNIT for name in names},
                [StoredResult(key(name), Side.BASE, (value,)) for name in names],
                [compared(key(name), Verdict.SAME) for name in names],
            )
    found = "SELECT benchmark, samples FROM result JOIN series ON series.id = series_id ORDER BY 1"
    assert database.rows(found) == [("BM_b", [2.0]), ("BM_c", [2.0])]
    assert database.value("SELECT count(*) FROM comparison") == 2
    assert database.value("SELECT count(*) FROM series") == 3


def test_names_that_differ_only_in_refused_characters_stay_two_series(
    store: PostgresStore, database: Database
) -> None:
    build = stored_build(store)
    names = (NASTY, NASTY.replace("\x00", "\udfff"), "long" * 5000)
    with store.transaction() as tx:
        tx.measurements.store_results(
            build,
            RunKind.CHECK,
            {key(name): UNIT for name in names},
            [StoredResult(key(name), Side.BASE, (float("inf"), float("nan"))) for name in names],
            [compared(key(name), Verdict.SAME, Reason(ReasonKind.FAILS, (NASTY,))) for name in names],
        )
    assert database.value("SELECT count(*) FROM series WHERE benchmark = :name", name=CLEANED) == 2
    assert database.value("SELECT count(DISTINCT series_id) FROM result") == 3


def test_builds_that_store_the_same_new_series_at_once_share_them(
    store: PostgresStore, database: Database
) -> None:
    builds = queue(store, *(named(f"job{number}") for number in range(4)))
    names = [f"BM_{number}" for number in range(300)]

    def save(number: int) -> None:
        ordered = names if number % 2 else names[::-1]
        with store.transaction() as tx:
            build = tx.builds.lock(builds[number])
            tx.measurements.store_results(
                build,
                RunKind.CHECK,
                {key(name): UNIT for name in ordered},
                [StoredResult(key(name), Side.BASE, (1.0,)) for name in ordered],
                [],
            )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(save, range(4)))
    assert database.value("SELECT count(*) FROM series") == 300
    assert database.value("SELECT count(*) FROM result") == 1200


def test_nothing_to_store_is_stored(store: PostgresStore, database: Database) -> None:
    build = stored_build(store)
    with store.transaction() as tx:
        tx.measurements.store_results(build, RunKind.CHECK, {}, [], [])
    assert database.value("SELECT count(*) FROM result") == 0


def test_results_of_a_month_without_a_partition_are_kept(store: PostgresStore, database: Database) -> None:
    old = stored_build(store)
    build = replace(old, created_at=old.created_at.replace(year=2035))
    with store.transaction() as tx:
        tx.measurements.store_results(
            build, RunKind.CHECK, {key("BM_a"): UNIT}, [StoredResult(key("BM_a"), Side.BASE, (1.0,))], []
        )
    assert database.value("SELECT count(*) FROM result_default") == 1


def test_a_large_build_is_stored_whole(store: PostgresStore, database: Database) -> None:
    build = stored_build(store)
    keys = [key(f"BM_{number}") for number in range(10_000)]
    samples = tuple(1e-6 * (1 + number / 97) for number in range(32))
    results = [StoredResult(each, side, samples) for each in keys for side in Side]
    with store.transaction() as tx:
        tx.measurements.store_results(build, RunKind.CHECK, dict.fromkeys(keys, UNIT), results, [])
    assert database.value("SELECT sum(array_length(samples, 1)) FROM result") == 2 * 10_000 * 32
