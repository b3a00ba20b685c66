"""Known failures and proposals beside many builds: each looks at few rows, and the newest come first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from bench.plans import scans_of
from service.adapters.postgres.failures import known_failures
from service.adapters.postgres.failures.shown_failures import PostgresFailureReading
from service.adapters.postgres.store import PostgresStore
from service.ports.failures.reading import KnownStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

BUILDS: Final = 4000
RUNS: Final = 1000
# Each of 1,000 runs has four builds of one job, and every tenth build fails in one of fifty ways.
STATEMENTS: Final = (
    """INSERT INTO run (kind, instance, project, branch, revision, parent, state)
       SELECT 'post-submit', 'review', 'kv', 'master', lpad(n::text, 40, '0'), lpad((n - 1)::text, 40, '0'),
              'finished' FROM generate_series(1, 1000) AS n""",
    """INSERT INTO build (job, number, kind, pool, state, priority, is_voting, spec, outcome, result,
                          machine, deadline_at, finished_at)
       SELECT 'linux', n, 'ctest', 'perf', 'finished', 0, true, '{}',
              CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'passed' END,
              CASE WHEN n % 10 = 0 THEN 'FAILURE' ELSE 'SUCCESS' END, 'a/perf', now(), now()
       FROM generate_series(1, 4000) AS n""",
    """INSERT INTO run_build (run_id, job, build_id, position)
       SELECT 1 + id % 1000, id::text, id, 0 FROM build""",
    """INSERT INTO signature (digest, kind, subject, text, last_seen_at)
       SELECT decode(md5(n::text), 'hex'), 'test', 'ep.' || n, 'Failed', now() - (50 - n) * interval '1 hour'
       FROM generate_series(1, 50) AS n""",
    """INSERT INTO failure (build_id, position, signature_id, headline)
       SELECT id, 0, 1 + (id / 10) % 50, 'Failed' FROM build WHERE outcome = 'failed'""",
    """INSERT INTO known_failure (signature_id, instance, project, branch, job, bug, state, expires_at)
       SELECT id, 'review', 'kv', 'master', 'linux', 'MB-1', 'confirmed', now() + interval '1 day'
       FROM signature WHERE id <= 5""",
    "ANALYZE",
)


@pytest.fixture
def many(database: Database) -> Database:
    """A database with many builds and fifty failures; five are known."""
    for statement in STATEMENTS:
        database.change(statement)
    return database


def rates(database: Database) -> object:
    with PostgresStore(database.owner).transaction() as tx:
        return tx.failures.rates_of([1, 2, 3, 4, 5])


def unknown(database: Database) -> list[str]:
    with PostgresStore(database.owner).transaction() as tx:
        found = tx.known.unknown_signatures()
    names = dict(database.rows("SELECT digest, subject FROM signature"))
    return [names[each.signature] for each in found]


@pytest.mark.parametrize(
    "read",
    [
        rates,
        lambda database: PostgresFailureReading(database.owner).known_failures(KnownStatus.ACTIVE, 100),
    ],
    ids=["rates", "list"],
)
def test_builds_in_a_scope_are_found_without_comparing_all_builds_with_all_runs(
    many: Database, read: Callable[[Database], object]
) -> None:
    looks = scans_of(many.owner, lambda: read(many), "run_build")
    assert 0 < sum(look.rows for look in looks) <= 3 * 5 * BUILDS


def test_proposals_read_the_runs_a_few_times_not_once_for_each_sighting(many: Database) -> None:
    looks = scans_of(many.owner, lambda: unknown(many), "run")
    assert 0 < sum(look.rows for look in looks if look.table == "run") <= 5 * RUNS


def test_proposals_look_at_the_newest_signatures_first(
    many: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_failures, "_MOST", 20)
    assert unknown(many)[:2] == ["ep.50", "ep.49"]
