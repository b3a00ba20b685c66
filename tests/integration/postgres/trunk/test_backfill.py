"""``benchgate backfill`` and the trends of what it measured, on a real database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from service import cli
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.store import PostgresStore
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.backfill import Backfill
from service.domain.values.identity import RunKind
from service.domain.values.search import Words
from service.domain.verdict.inference.verdict import Verdict
from service.domain.verdict.trend.line import level_line
from tests.support.store_samples import NOON, named, post_submit_run
from tests.support.trunk import key, measured

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

    from service.ports.store import Transaction
    from service.ports.verdict import SeriesWithPoints
    from tests.support.postgres import Database, Server

pytestmark = pytest.mark.integration
SAME = {key("BM_a"): (Verdict.SAME, ())}


@pytest.fixture
def database(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Database]:
    with server.database() as fresh:
        monkeypatch.setenv("BENCHGATE_DATABASE_URL", fresh.owner_url)
        monkeypatch.setenv("BENCHGATE_REDIS_URL", "redis://127.0.0.1:1/0")
        monkeypatch.setenv("BENCHGATE_HOME", str(tmp_path))
        monkeypatch.setenv("BENCHGATE_INSTANCE", "review")
        yield fresh


def benchgate(*words: str) -> Result:
    return CliRunner().invoke(cli.benchgate, ["backfill", *words])


def commit(name: str) -> str:
    return name * 40


def measure(
    tx: Transaction, base: str, patch: str, ratio: float, days: int | None = None, *, is_touched: bool = True
) -> None:
    """A commit is measured after its merge; with ``days``, for a backfill that many days after its date."""
    run = replace(post_submit_run(commit(patch)), subject=f"Commit {patch}")
    if days is not None:
        run = replace(run, kind=RunKind.ANCHOR, pool="perf", parent=commit(base), requested_by="ann")
        run = replace(run, committed_at=NOON - timedelta(days=days))
    number = tx.runs.add(run)
    assert number is not None
    tx.runs.start(number, tree="t", parent=commit(base), parent_tree="q", label="Verified")
    if is_touched:
        measured(tx, number, SAME, ratios={key("BM_a"): (ratio, ratio - 0.01, ratio + 0.01)})
    else:
        tx.builds.add(number, 0, named("cv-perf", sequence="", outcome=Outcome.NOT_BUILT))
    tx.runs.end(number, RunState.FINISHED)


def trend(database: Database, points: int = 10) -> SeriesWithPoints:
    database.change("UPDATE comparison SET error = 0.002")
    reading = PostgresReading(database.owner)
    [series] = reading.series(Words(), 10)
    whole = reading.trend(series.id, 1000)
    family = reading.family(series.id, 1, 1000)
    [member] = family.members
    steps, anchors = (
        [replace(step, verdict=None, run_id=None) for step in each] for each in (member.steps, member.anchors)
    )
    assert steps == [each.step for each in whole.points if each.kind is RunKind.POST_SUBMIT]
    assert (anchors, family.untouched) == ([*whole.links], whole.untouched), "also in its family"
    return reading.trend(series.id, points)


def test_backfilled_commits_are_in_their_place_of_the_line_at_their_own_dates(database: Database) -> None:
    with PostgresStore(database.owner).transaction() as tx:
        measure(tx, "4", "5", 1.0)
        for place, days in (("4", 30), ("3", 40), ("1", 60)):  # the newest first
            measure(tx, f"{int(place) - 1}", place, 1.02, days)
        measure(tx, "1", "2", 1.0, 50, is_touched=False)
    found = trend(database)
    assert [point.revision[0] for point in found.points] == ["1", "3", "4", "5"]
    assert [point.kind for point in found.points] == [RunKind.POST_SUBMIT] * 4
    assert [point.committed_at and (NOON - point.committed_at).days for point in found.points] == [
        60,
        40,
        30,
        None,
    ]
    assert (found.points[0].subject, found.points[0].parent) == ("Commit 1", commit("0"))
    assert (found.anchors, [each.revision[0] for each in found.untouched]) == ((), ["2"])
    line = level_line(found.steps, anchors=found.links)
    assert [each[0] for each in line.commits] == ["0", "1", "2", "3", "4", "5"]
    assert {each.since for each in line.levels.values()} == {commit("0")}, "there is no gap"


def test_a_link_that_was_measured_twice_counts_once_and_the_newest_commits_are_shown(
    database: Database,
) -> None:
    store = PostgresStore(database.owner)
    for ratio in (1.04, 1.02):
        with store.transaction() as tx:
            measure(tx, "1", "2", ratio, 30)
    with store.transaction() as tx:
        measure(tx, "0", "1", 1.0, 40)
    [older, newer] = trend(database).points
    assert (older.revision, newer.ratio) == (commit("1"), 1.02)
    assert [point.revision for point in trend(database, 1).points] == [commit("2")]
    [member] = PostgresReading(database.owner).family(1, 1, 1).members
    assert [step.revision for step in member.steps] == [commit("2")]


def test_an_anchor_stays_in_the_trend_when_a_backfill_measures_more_commits_than_it_has_anchors(
    database: Database,
) -> None:
    with PostgresStore(database.owner).transaction() as tx:
        measure(tx, "4", "5", 1.0)
        anchor = tx.runs.add(replace(post_submit_run(commit("5")), kind=RunKind.ANCHOR, parent=commit("1")))
        assert anchor is not None
        measured(tx, anchor, SAME, ratios={key("BM_a"): (1.02, 1.01, 1.03)})
        tx.runs.end(anchor, RunState.FINISHED)
    for number in range(201):
        with PostgresStore(database.owner).transaction() as tx:
            measure(tx, f"x{number}", f"x{number + 1}", 1.0, 30)
    [found] = trend(database).anchors
    assert (found.parent, found.revision) == (commit("1"), commit("5"))


def test_a_request_is_stored_listed_and_ended(database: Database) -> None:
    store = PostgresStore(database.owner)
    assert "there are no backfills" in benchgate().stderr
    with store.transaction() as tx:
        tx.runs.add(post_submit_run())

    made = benchgate("--branch", "master", "--last", "200")
    assert (made.exit_code, made.stdout) == (0, ""), made.exception
    assert "stored backfill 1" in made.stderr
    with store.transaction() as tx:
        [stored] = tx.backfills.waiting()
        assert stored.backfill == Backfill("review", "kv_engine", "master", 200)
        assert "last 200; waits until a pool is idle; by " in benchgate().stdout
        tx.backfills.note(1, links=20, left=13, failed=2)
    assert "7 of 20 comparisons (2 could not be measured); by " in benchgate().stdout
    assert "ended backfill 1" in benchgate("--cancel", "1").stderr
    assert "backfill 1 had ended" in benchgate("--cancel", "1").stderr
    assert ", ended 20" in benchgate().stdout


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--branch", "8.0", "--last", "5"], "--branch: no run of the last 30 days checked or measured 8.0"),
        (["--branch", "master"], "--last: give both"),
        (["--last", "5"], "--branch: give both"),
        (["--cancel", "1", "--last", "5"], "--cancel: write --cancel without"),
        (["--branch", "master", "--last", "2001"], "2001"),
        (["--cancel", "7"], "there is no backfill 7"),
    ],
)
def test_a_wrong_request_is_refused_with_its_reason(database: Database, words: list[str], error: str) -> None:
    refused = benchgate(*words)
    assert refused.exit_code != 0
    assert error in str(refused.exception) + refused.output
    assert database.value("SELECT count(*) FROM backfill") == 0
