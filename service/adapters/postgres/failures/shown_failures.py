"""Known failures with their builds of the last 30 days."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.access.lookup_keys import ADDRESS, number_key
from service.adapters.postgres.access.sight import (
    OF_BRANCHES,
    OF_KNOWN,
    Sighted,
    measured_in_sight,
    visible_build,
    visible_scope,
)
from service.adapters.postgres.failures.bug_notes import CLOSED_BUG, noted_bugs
from service.adapters.postgres.failures.builds_in_scope import (
    BUILDS,
    COUNTS,
    PASSED,
    RUNS_OF_BUILD,
    SINCE,
)
from service.adapters.postgres.failures.failures_in_scope import (
    failures_in,
    groups_of_known,
    groups_of_scope,
    matches_among,
    projects,
)
from service.adapters.postgres.failures.sightings import SIGHTING, sightings_of
from service.adapters.postgres.rows import from_row
from service.adapters.postgres.storable import LARGEST_BIGINT
from service.domain.failures.evidence import Rate, explaining_machines, proposal_of
from service.domain.failures.failure import FailureKind
from service.domain.failures.naming import names_cause
from service.domain.failures.signature import Signature
from service.domain.values.errors import NotFound
from service.domain.values.search import EVERYTHING
from service.ports.failures.reading import (
    DayRow,
    EndingKnown,
    FailureReading,
    KnownDetail,
    KnownRow,
    KnownStatus,
    SightingRow,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, RowMapping, TextClause

    from service.domain.failures.known import Scope
    from service.domain.failures.output.linear import Pattern
    from service.domain.values.search import Words
    from service.ports.failures.reading import PatternMatches

_MOST_SIGHTINGS: Final = 50
_STATUS: Final = """
    CASE WHEN k.state = 'untriaged' THEN 'proposed' WHEN k.state IN ('fixed', 'invalid') THEN 'closed'
    WHEN k.expires_at <= now() THEN 'expired' ELSE 'active' END
"""
# A signature is hidden with all its builds: its text is theirs. Nobody is asked about each of their changes:
# one that is not private is as visible as its branch.
_VISIBLE: Final = f"""
    {visible_scope("k")} AND (k.signature_id IS NULL OR EXISTS (
        SELECT FROM failure AS shown
        WHERE shown.signature_id = k.signature_id AND {measured_in_sight("shown.build_id")}
    ))
"""


def _rows(chosen: str) -> str:
    return f"""
WITH chosen AS (SELECT k.* FROM known_failure AS k WHERE {chosen} AND {_VISIBLE}),
{COUNTS}
SELECT k.id, k.state, coalesce(s.kind, '') AS kind, coalesce(s.subject, '') AS subject,
       coalesce(s.text, k.pattern) AS text, k.instance, k.project, k.branch, k.job, k.host, k.bug, k.reason,
       k.owner, k.assignee, k.created_at, k.expires_at, k.expires_at <= now() AS is_expired,
       coalesce(c.failed, 0) AS failed, coalesce(c.builds, 0) AS builds, coalesce(c.since, 0) AS since,
       c.last_seen_at,
       coalesce(c.failed = 0 AND k.created_at < {SINCE}, false) AS is_unseen,
       {_STATUS} = 'active' AS is_active, coalesce(newest.line, newest.headline, '') AS line
FROM chosen AS k LEFT JOIN signature AS s ON s.id = k.signature_id LEFT JOIN counts AS c ON c.id = k.id
LEFT JOIN LATERAL (
    SELECT had.line, had.headline FROM failure AS had
    WHERE had.signature_id = k.signature_id ORDER BY had.build_id DESC, had.position LIMIT 1
) AS newest ON true
ORDER BY k.id DESC
"""  # noqa: S608 - put together from constants


# strpos finds the words as they are written: nothing in them is a pattern.
_SEARCHED: Final = f"""
    FROM known_failure AS k LEFT JOIN signature AS its ON its.id = k.signature_id
    CROSS JOIN LATERAL (
        SELECT lower(concat_ws(' ', its.subject, its.text, its.kind, k.pattern, k.project, k.branch, k.job,
                               k.host, k.bug, k.reason, k.owner, k.assignee)) AS words
    ) AS searched
    WHERE {_VISIBLE}
      AND NOT EXISTS (SELECT FROM unnest(cast(:wanted AS text[])) AS word WHERE strpos(words, word) = 0)
      AND NOT EXISTS (SELECT FROM unnest(cast(:unwanted AS text[])) AS word WHERE strpos(words, word) > 0)
"""  # noqa: S608 - put together from constants
_PAGE: Final = f"""k.id IN (
    SELECT k.id {_SEARCHED} AND {_STATUS} = :status AND k.id < :before ORDER BY k.id DESC LIMIT :limit
)"""
_LIST: Final = text(_rows(_PAGE))
_ONE: Final = text(_rows("k.id = :known_id"))
_STATUSES: Final = text(f"SELECT {_STATUS} AS status, count(*) AS known {_SEARCHED} GROUP BY 1")
_ENDING: Final = text(f"""
SELECT k.id, coalesce(nullif(s.subject, ''), s.text, k.pattern) AS name, k.bug, k.expires_at, {CLOSED_BUG}
       AS is_bug_closed
FROM known_failure AS k LEFT JOIN signature AS s ON s.id = k.signature_id
WHERE {_STATUS} = 'active' AND (k.expires_at < now() + make_interval(days => :days) OR {CLOSED_BUG})
  AND {_VISIBLE}
ORDER BY k.expires_at, k.id LIMIT :limit
""")  # noqa: S608 - put together from constants
_OF_ONE: Final = f"""
WITH chosen AS (SELECT * FROM known_failure WHERE id = :known_id), {BUILDS}
"""  # noqa: S608 - put together from constants
_DAYS: Final = text(f"""
{_OF_ONE}
SELECT cast(finished_at AT TIME ZONE 'UTC' AS date) AS day, count(*) AS builds,
       count(*) FILTER (WHERE had) AS failed
FROM builds GROUP BY 1 ORDER BY 1
""")  # noqa: S608 - put together from constants
_HOSTS: Final = text(f"""
{_OF_ONE}
SELECT host, count(*) AS builds, count(*) FILTER (WHERE had) AS failed
FROM builds WHERE host <> '' GROUP BY 1 ORDER BY 1
""")  # noqa: S608 - put together from constants
# A person closes a bug, so all of its known failures in the project count.
_MATCHED: Final = text("""
SELECT count(DISTINCT m.build_id) FROM known_failure AS k
JOIN known_failure AS same ON (same.instance, same.project, same.bug) = (k.instance, k.project, k.bug)
JOIN known_match AS m ON m.known_id = same.id
WHERE k.id = :known_id AND k.bug <> ''
""")
_SIGHTINGS: Final = text(f"""
{_OF_ONE}, {PASSED}
SELECT b.job, coalesce(b.external_number, b.number) AS number, coalesce(b.machine, '') AS machine,
       coalesce(found.line, found.headline, '') AS line, r.id AS run_id, p.number AS patch_set,
       CASE WHEN c.id IS NULL THEN NULL ELSE {ADDRESS} END AS change_address, {SIGHTING},
       NOT b.failures_cut AND EXISTS (
           SELECT FROM known_match AS m
           WHERE m.known_id = :known_id AND m.build_id = b.id AND NOT EXISTS (
               SELECT FROM failure AS beside
               WHERE beside.build_id = b.id AND NOT beside.is_cleared AND NOT EXISTS (
                   SELECT FROM known_match AS its
                   WHERE (its.run_id, its.build_id, its.position) = (m.run_id, b.id, beside.position)
               )
           )
       ) AS is_waived
FROM builds JOIN build AS b ON b.id = builds.build_id
JOIN LATERAL (
    SELECT run.* FROM run WHERE run.id IN ({RUNS_OF_BUILD}) ORDER BY run.id DESC LIMIT 1
) AS r ON true
LEFT JOIN patch_set AS p ON p.id = r.patch_set_id LEFT JOIN change AS c ON c.id = p.change_id
LEFT JOIN LATERAL (
    SELECT f.line, f.headline, f.is_cleared FROM failure AS f JOIN known_failure AS k ON k.id = :known_id
    WHERE f.build_id = b.id AND f.signature_id = k.signature_id ORDER BY f.position LIMIT 1
) AS found ON true
WHERE builds.had AND {visible_build("b.id")}
ORDER BY b.finished_at DESC, b.id DESC LIMIT {_MOST_SIGHTINGS}
""")  # noqa: S608 - put together from constants


class PostgresFailureReading(Sighted, FailureReading):
    """Known failures in the database."""

    @override
    def known_failures(
        self, status: KnownStatus, limit: int, words: Words = EVERYTHING, before: int | None = None
    ) -> Sequence[KnownRow]:
        keys: dict[str, Any] = {
            "status": status.value,
            "before": LARGEST_BIGINT if before is None else min(before, LARGEST_BIGINT),
            "limit": limit,
            **_keys_of(words),
            **self._sight(OF_BRANCHES),
        }
        with self._begin() as connection:
            return _known(connection, _LIST, keys)

    @override
    def ending(self, days: int, limit: int) -> Sequence[EndingKnown]:
        keys = {"days": days, "limit": limit, **self._sight(OF_BRANCHES)}
        with self._begin() as connection:
            return [from_row(EndingKnown, row) for row in connection.execute(_ENDING, keys).mappings()]

    @override
    def statuses(self, words: Words = EVERYTHING) -> Mapping[KnownStatus, int]:
        keys = {**_keys_of(words), **self._sight(OF_BRANCHES)}
        with self._begin() as connection:
            rows = connection.execute(_STATUSES, keys)
            return {KnownStatus(row.status): row.known for row in rows}

    @override
    def projects(self) -> Sequence[tuple[str, str]]:
        sight = self._sight(OF_BRANCHES)
        with self._begin() as connection:
            return projects(connection, sight)

    @override
    def groups_of(self, scope: Scope) -> tuple[str, ...]:
        sight = self._sight(OF_BRANCHES)
        with self._begin() as connection:
            found = groups_of_scope(connection, scope, sight)
        if not found:
            raise NotFound("no build ran in this scope")
        return found

    @override
    def matching(self, pattern: Pattern, scope: Scope) -> PatternMatches:
        sight = self._sight(OF_BRANCHES)
        with self._begin() as connection:
            rows = failures_in(connection, scope, sight)
        return matches_among(rows, pattern)

    @override
    def known_failure(self, known_id: int) -> KnownDetail:
        keys = {"known_id": number_key(known_id, LARGEST_BIGINT)}
        sight = self._sight(OF_KNOWN, **keys)
        with self._begin() as connection:
            rows = _known(connection, _ONE, {**keys, **sight})
            if not rows:
                raise NotFound(f"there is no known failure {known_id}")
            return _detail(connection, rows[0], {**keys, **sight})


def _keys_of(words: Words) -> Mapping[str, Sequence[str]]:
    return {"wanted": list(words.wanted), "unwanted": list(words.unwanted)}


def _known(connection: Connection, query: TextClause, keys: Mapping[str, Any]) -> Sequence[KnownRow]:
    rows = connection.execute(query, keys).mappings().all()
    bugs = noted_bugs(connection, {row["bug"] for row in rows})
    return [from_row(KnownRow, row, tracked=bugs.get(row["bug"]), waives=_waives(row)) for row in rows]


def _waives(row: RowMapping) -> bool:
    """Return whether it waives builds by itself: of one that names no cause, a person compares the texts."""
    if not row["is_active"] or not row["kind"]:
        return bool(row["is_active"])
    return names_cause(Signature(FailureKind(row["kind"]), row["subject"], row["text"]), row["line"])


def _detail(connection: Connection, row: KnownRow, keys: Mapping[str, Any]) -> KnownDetail:
    rows = connection.execute(_SIGHTINGS, keys).mappings().all()
    hosts = {each.host: Rate(each.failed, each.builds) for each in connection.execute(_HOSTS, keys)}
    return KnownDetail(
        row=row,
        days=tuple(
            DayRow(day=each.day, failed=each.failed, builds=each.builds)
            for each in connection.execute(_DAYS, keys)
        ),
        sightings=tuple(from_row(SightingRow, each) for each in rows),
        hosts=hosts,
        machines=explaining_machines(hosts),
        proposal=proposal_of(sightings_of(rows)),
        groups=groups_of_known(connection, keys),
        matched=connection.execute(_MATCHED, keys).scalar_one(),
    )
