"""Pairs of relinks, for workers and rows of this version and of the one before it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from alembic import command
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from service.adapters.postgres.machines.calls import LEASE_LOST
from service.adapters.postgres.migrate import configured, migrate
from service.domain.measuring.pair_record import PairRecord
from tests.integration.postgres.samples import claimed, worklist
from tests.support.store_samples import queue

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

BEFORE = "20261122_0100"
LAUNCHES = [{"suite": "executor", "side": side, "facts": {"seconds": 1.5}} for side in ("base", "patch")]
ROWS = "SELECT variant, pair, count(*), min(artifact) FROM launch GROUP BY 1, 2 ORDER BY 1, 2"


class WorkerBefore:
    """A worker of the version before, with the lease of the only build: a relink is a part of the number."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.build, self.token = database.rows("SELECT build_id, token FROM lease")[0]

    def record(self, number: int, artifact: str) -> None:
        self._call(
            "record_pair(:build, :token, :number, :artifact, CAST(:launches AS jsonb))",
            number=number,
            artifact=artifact,
            launches=json.dumps(LAUNCHES),
        )

    def pairs(self) -> list[tuple[int, str]]:
        return self._call("pairs(:build, :token)")

    def _call(self, function: str, **values: object) -> list[tuple[int, str]]:
        with self.database.machine.begin() as connection:
            held = {"build": self.build, "token": self.token, **values}
            query = text(f"SELECT * FROM machine.{function}")  # noqa: S608 - literals from above
            return [tuple(row) for row in connection.execute(query, held)]


def test_stored_relinks_move_to_their_variant_and_back(store: PostgresStore, database: Database) -> None:
    queue(store)
    url = configured(database.owner_url)
    with claimed(worklist(database)):
        command.downgrade(url, BEFORE)
        worker = WorkerBefore(database)
        for number, artifact in ((0, "a"), (9_999, "b"), (10_000, "c"), (30_004, "d")):
            worker.record(number, artifact)
        stored = worker.pairs()
        migrate(database.owner_url)
        assert database.rows(ROWS) == [(0, 0, 2, "a"), (0, 9_999, 2, "b"), (1, 0, 2, "c"), (3, 4, 2, "d")]
        assert worker.pairs() == stored
        command.downgrade(url, BEFORE)
        assert worker.pairs() == stored
        worker.record(30_005, "e")
        assert worker.pairs() == [*stored, (30_005, "e")]


def test_a_worker_of_the_version_before_stores_and_reads_relinks(
    store: PostgresStore, database: Database
) -> None:
    queue(store)
    with claimed(worklist(database)):
        worker = WorkerBefore(database)
        for number, artifact in ((0, "a"), (20_003, "b"), (20_003, "too late")):
            worker.record(number, artifact)
        assert database.rows(ROWS) == [(0, 0, 2, "a"), (2, 3, 2, "b")]
        assert worker.pairs() == [(0, "a"), (20_003, "b")]


def test_both_versions_continue_the_pairs_of_the_other(store: PostgresStore, database: Database) -> None:
    queue(store)
    with claimed(worklist(database)) as build:
        worker = WorkerBefore(database)
        build.record(PairRecord(0, b"first", 1), LAUNCHES)
        worker.record(10_000, "too late")
        [(number, artifact)] = worker.pairs()
        worker.record(10_001, artifact)
        build.record(PairRecord(1, b"too late", 1), LAUNCHES)
        assert number == 10_000
        assert build.pairs() == [PairRecord(0, b"first", 1), PairRecord(1, b"first", 1)]


def test_a_worker_of_the_version_before_that_lost_its_lease_is_refused(
    store: PostgresStore, database: Database
) -> None:
    queue(store)
    with claimed(worklist(database)):
        worker = WorkerBefore(database)
        worker.token -= 1
        for call in (worker.pairs, lambda: worker.record(0, "stale")):
            with pytest.raises(DBAPIError) as refused:
                call()
            assert getattr(refused.value.orig, "sqlstate", None) == LEASE_LOST
    assert database.value("SELECT count(*) FROM launch") == 0


def test_pairs_of_every_variant_are_numbered_from_0(store: PostgresStore, database: Database) -> None:
    queue(store)
    records = [
        PairRecord(pair, f"{variant}/{pair}".encode(), variant) for variant in (0, 2) for pair in (0, 1)
    ]
    with claimed(worklist(database)) as build:
        for record in reversed(records):
            build.record(record, LAUNCHES)
        assert build.pairs() == records
