"""Lock rows until a unit of work ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from sqlalchemy import text

from service.adapters.postgres.access.audit import PostgresAudit
from service.adapters.postgres.faults import translated
from service.adapters.postgres.store import unit_of_work
from service.domain.review.change import Person, PostedMessage
from service.domain.values.errors import Transient
from service.domain.values.identity import ChangeKey, RunKind
from tests.support.store_samples import NOON, change, named, post_submit_run, queue, start

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.adapters.postgres.store import PostgresStore
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Transaction
    from tests.support.postgres import Database

    Work = Callable[[Transaction, RunRecord], object]

pytestmark = pytest.mark.integration


def upsert(tx: Transaction, _: RunRecord) -> object:
    return tx.changes.upsert(change())


def lock_run(tx: Transaction, run: RunRecord) -> object:
    return tx.runs.lock(run.id)


def lock_build(tx: Transaction, _: RunRecord) -> object:
    return tx.builds.lock(1)


def next_decision(tx: Transaction, run: RunRecord) -> object:
    return tx.decisions.next_number(run)


# Work that locks a row, and work that then has to wait for it.
LOCKS: Final[Mapping[str, tuple[Work, Work]]] = {
    "upsert_change": (upsert, upsert),
    "lock_comment": (lambda tx, _: tx.comments.lock(1), upsert),
    "lock_run": (lock_run, lock_run),
    "lock_run, its change": (lock_run, upsert),
    "cancel_runs": (lambda tx, _: tx.runs.cancel(1, keep_patch_set=None), lock_run),
    "newest_check": (lambda tx, _: tx.history.newest_check(1), lock_run),
    "newest_run": (
        lambda tx, _: tx.history.newest_run(ChangeKey("review", 7), RunKind.CHECK, "1" * 40),
        lock_run,
    ),
    "lock_build": (lock_build, lock_build),
    "adopt_build": (
        lambda tx, _: tx.builds.adopt(tx.runs.lock(start(tx, post_submit_run())), 0, "trees", 60.0, 60.0),
        lock_build,
    ),
    "next_decision": (next_decision, next_decision),
}


def attempt(database: Database, work: Work, run: RunRecord) -> None:
    """Do some work in another transaction that gives up soon."""
    with translated(), database.owner.begin() as connection:
        connection.execute(text("SET LOCAL lock_timeout = '50ms'"))
        work(unit_of_work(connection, PostgresAudit(connection)), run)


@pytest.mark.parametrize("name", LOCKS)
def test_other_work_waits_for_locked_rows(store: PostgresStore, database: Database, name: str) -> None:
    queue(store, named("a", sequence="trees"))
    with store.transaction() as tx:
        message = PostedMessage("m", 1, Person("Bob", account="1"), NOON, "recheck")
        tx.comments.record(tx.changes.upsert(change()), [message])
        run = tx.runs.lock(1)
    holds, waits = LOCKS[name]

    with store.transaction() as tx:
        holds(tx, run)
        with pytest.raises(Transient, match="lock timeout"):
            attempt(database, waits, run)
    attempt(database, waits, run)
