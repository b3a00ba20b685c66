"""Read from the database what became of the changes, and what is lost or doubled."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from bench.fleet.traffic import BUILDS_OF_CHANGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Engine, TextClause

_BUILDS: Final = text("""
SELECT c.number AS change, r.id AS run, b.id AS build, b.pool, b.state, b.attempt, b.created_at, b.started_at,
       b.executed_at, b.finished_at, (
           SELECT max(o.sent_at) FROM outbox AS o
           WHERE o.kind = 'review' AND o.state = 'sent' AND o.payload -> 'number' = to_jsonb(c.number)
       ) AS posted_at
FROM change AS c
JOIN patch_set AS p ON p.change_id = c.id
JOIN run AS r ON r.patch_set_id = p.id
JOIN run_build AS rb ON rb.run_id = r.id
JOIN build AS b ON b.id = rb.build_id
ORDER BY c.number, r.id, b.id
""")
_DECISIONS: Final = text("""
SELECT c.number AS change FROM decision AS d JOIN run AS r ON r.id = d.run_id
JOIN patch_set AS p ON p.id = r.patch_set_id JOIN change AS c ON c.id = p.change_id
""")
_STORED_PAIRS: Final = text(
    "SELECT count(*) FROM (SELECT DISTINCT sequence_id, variant, pair FROM launch) AS p"
)
_UNFINISHED: Final = text("SELECT count(*) FROM build WHERE state <> 'finished'")
_UNPOSTED: Final = text("SELECT count(*) FROM outbox WHERE state = 'pending'")
_UNVOTED: Final = text("SELECT count(*) FROM run WHERE kind = 'check' AND state IN ('planning', 'running')")
_SIZES: Final = text("""
SELECT 'all' AS name, pg_database_size(current_database()) AS bytes
UNION ALL SELECT 'WAL', pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')
UNION ALL
SELECT oid::regclass::text, pg_total_relation_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace IN ('public'::regnamespace, 'audit'::regnamespace)
""")
_STATEMENTS: Final = text("""
SELECT regexp_replace(left(query, 600), '\\s+', ' ', 'g') AS query, calls, total_exec_time / 1000 AS seconds,
       mean_exec_time AS mean
FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT :most
""")
_CONNECTIONS: Final = text("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")


@dataclass(frozen=True, slots=True)
class Ended:
    """A build of a change, and when it got where."""

    change: int
    run: int
    build: int
    pool: str
    state: str
    attempt: int
    created_at: datetime
    started_at: datetime | None
    executed_at: datetime | None
    finished_at: datetime | None
    posted_at: datetime | None


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with the number of its calls, the seconds of all, and the milliseconds of one."""

    query: str
    calls: int
    seconds: float
    mean: float


class Records:
    """The control plane's database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def builds(self) -> Sequence[Ended]:
        """Return the builds of all changes."""
        with self._engine.connect() as connection:
            return [Ended(*row) for row in connection.execute(_BUILDS)]

    def decisions(self) -> Counter[int]:
        """Count the decisions on each change."""
        with self._engine.connect() as connection:
            return Counter(connection.execute(_DECISIONS).scalars())

    def stored_pairs(self) -> int:
        """Return the number of pairs that machines recorded."""
        return self._value(_STORED_PAIRS)

    def open_work(self) -> int:
        """Return the number of builds, votes and messages that are still to be done."""
        return self._value(_UNFINISHED) + self._value(_UNPOSTED) + self._value(_UNVOTED)

    def connections(self) -> int:
        """Return the number of connections."""
        return self._value(_CONNECTIONS)

    def sizes(self) -> Mapping[str, int]:
        """Return the bytes of the database, of its log of changes, and of each table."""
        with self._engine.connect() as connection:
            return {row.name: int(row.bytes) for row in connection.execute(_SIZES)}

    def statements(self, most: int) -> Sequence[Statement]:
        """Return those that took the longest in all."""
        with self._engine.connect() as connection:
            return [Statement(*row) for row in connection.execute(_STATEMENTS, {"most": most})]

    def _value(self, query: TextClause) -> int:
        with self._engine.connect() as connection:
            return int(connection.execute(query).scalar_one())


def faults(
    fed: Iterable[int], builds: Sequence[Ended], decisions: Mapping[int, int], messages: Mapping[int, int]
) -> list[str]:
    """Name each change that lost something or got it twice, and each build that was executed twice.

    Args:
        fed: the changes.
        builds: those of the changes.
        decisions: their number by change.
        messages: the number of messages on each change.
    """
    found = []
    runs = {each.change: set[int]() for each in builds}
    for each in builds:
        runs[each.change].add(each.run)
    count = Counter(each.change for each in builds)
    for change in fed:
        for what, number, expected in (
            ("runs", len(runs.get(change, ())), 1),
            ("builds", count[change], BUILDS_OF_CHANGE),
            ("decisions", decisions.get(change, 0), 1),
            ("messages", messages.get(change, 0), 1),
        ):
            if number != expected:
                found.append(f"change {change} has {number} {what}, not {expected}")
    found += [f"build {each.build} is {each.state}" for each in builds if each.state != "finished"]
    found += [f"build {each.build} had {each.attempt} attempts" for each in builds if each.attempt > 1]
    return found
