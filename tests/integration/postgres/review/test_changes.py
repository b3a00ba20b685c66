"""Changes and runs as rows, and when they are stored at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.ports.runs.decisions import NewDecision
from tests.integration.postgres.samples import CLEANED, NASTY
from tests.support.store_samples import change, check_run, named

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

DIGEST = b"d" * 32


def test_a_patch_set_keeps_its_subject(store: PostgresStore, database: Database) -> None:
    with store.transaction() as tx:
        old = tx.changes.upsert(change(patch_set=1, minutes=1))
        new = tx.changes.upsert(change(patch_set=2, minutes=2, subject="Make it quicker"))
    assert old.is_current
    assert new.is_current
    assert new.patch_set_id != old.patch_set_id
    assert database.value("SELECT subject FROM change") == "Make it quicker"
    assert database.rows("SELECT number, subject FROM patch_set ORDER BY 1") == [
        (1, "Make it quick"),
        (2, "Make it quicker"),
    ]


def test_states_that_arrive_at_once_make_one_change(store: PostgresStore, database: Database) -> None:
    def upsert(patch_set: int) -> bool:
        with store.transaction() as tx:
            return tx.changes.upsert(change(patch_set=patch_set, minutes=patch_set)).is_current

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(upsert, range(1, 17)))
    assert database.value("SELECT count(*) FROM change") == 1
    assert database.value("SELECT updated_at = timestamptz '2026-11-21 12:16Z' FROM change")


def test_texts_that_the_database_refuses_are_stored_cleaned(store: PostgresStore, database: Database) -> None:
    with store.transaction() as tx:
        record = tx.changes.upsert(replace(change(subject=NASTY), message=NASTY))
        run = tx.runs.add(replace(check_run(record.patch_set_id), subject=NASTY, author=NASTY))
        assert run is not None
        build = named("cv-perf", spec={NASTY: [NASTY, float("nan"), {"deep": NASTY}]}, causes=(NASTY,))
        tx.builds.finish(tx.builds.add(run, 0, build), Outcome.FAILED, [NASTY])
        tx.decisions.add(NewDecision(run, record.patch_set_id, 1, None, NASTY, NASTY))
        tx.runs.end(run, RunState.REFUSED, NASTY)
    assert database.rows("SELECT subject, message FROM patch_set") == [(CLEANED, CLEANED)]
    assert database.rows("SELECT subject, author, reason FROM run") == [(CLEANED, CLEANED, CLEANED)]
    assert database.value("SELECT spec FROM build") == {CLEANED: [CLEANED, None, {"deep": CLEANED}]}
    assert database.rows("SELECT causes, result FROM build") == [([CLEANED], "FAILURE")]
    assert database.value("SELECT message FROM decision") == CLEANED


def test_concurrently_added_runs_become_one(store: PostgresStore) -> None:
    with store.transaction() as tx:
        patch_set = tx.changes.upsert(change()).patch_set_id

    def add(_: int) -> int | None:
        with store.transaction() as tx:
            return tx.runs.add(check_run(patch_set))

    with ThreadPoolExecutor(8) as pool:
        added = list(pool.map(add, range(8)))
    assert len([run for run in added if run is not None]) == 1
