"""Delete old records, find the artifacts that records name, and measure what both take."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.connection import ShortTransactions
from service.adapters.postgres.schema import RETIRED, UNFINISHED_RUN
from service.domain.runs.health import PRUNE
from service.domain.runs.retention import Kind, Supply
from service.ports.runs.retention import Retention

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy import TextClause

    from service.domain.runs.retention import Policy

_IN_RUNS: Final = """
    run_build AS u JOIN run AS r ON r.id = u.run_id
    LEFT JOIN patch_set AS p ON p.id = r.patch_set_id LEFT JOIN change AS c ON c.id = p.change_id
"""


def _in_run(which: str, build: str = "b.id") -> str:
    """Say that a build is in such a run, or was until another replaced it there.

    No index finds what was replaced, but it is little: it is read once.
    """
    replaced = _IN_RUNS.replace("run_build", "replaced_build")
    return (
        f"(EXISTS (SELECT FROM {_IN_RUNS} WHERE u.build_id = {build} AND {which})"  # noqa: S608 - put together from constants
        f" OR {build} IN (SELECT u.build_id FROM {replaced} WHERE {which}))"
    )


_IS_OPEN: Final = _in_run(f"(c.status = 'NEW' OR r.{UNFINISHED_RUN})")
_MERGED_RUN: Final = "(c.status = 'MERGED' OR r.kind <> 'check')"
_IS_MERGED: Final = _in_run(_MERGED_RUN)
# Of a build b: somebody may still ask for what it left.
_HELD: Final = f"""(
    b.state <> 'finished' OR b.id IN (SELECT unnest(builds) FROM ruling) OR {_IS_OPEN}
    OR b.id IN (
        SELECT build_id FROM regressed_result AS x
        JOIN regression AS o ON o.id = x.regression_id WHERE o.fixed_at IS NULL
    )
)"""  # noqa: S608 - put together from constants
_LOGS: Final = f"""
    SELECT b.id, b.finished_at AS at, NOT {_HELD} AS may_go
    FROM build AS b JOIN log_end AS e ON e.build_id = b.id WHERE (b.result = 'SUCCESS') IS """  # noqa: S608 - put together from constants
_PROGRAMS: Final = f"""
    SELECT k.digest AS id, k.last_used_at AS at, true AS may_go FROM kept_binary AS k
    WHERE {_in_run(_MERGED_RUN, "k.build_id")} IS """  # noqa: S608 - put together from constants
_PAIRS: Final = f"""
    SELECT s.id, NOT EXISTS (SELECT FROM build AS b WHERE b.sequence_id = s.id AND {_HELD}) AS may_go, (
               SELECT max(greatest(b.finished_at, c.updated_at))
               FROM build AS b LEFT JOIN ({_IN_RUNS}) ON u.build_id = b.id WHERE b.sequence_id = s.id
           ) AS at
    FROM sequence AS s
    WHERE EXISTS (SELECT FROM launch WHERE launch.sequence_id = s.id) AND EXISTS (
        SELECT FROM build AS b WHERE b.sequence_id = s.id AND {_IS_MERGED}
    ) IS """  # noqa: S608 - put together from constants
# Only builds that are old enough are looked up: without OFFSET, all comparisons might be read at once.
_SAMPLES: Final = f"""
    SELECT b.id, b.finished_at AS at, NOT {_HELD} AS may_go
    FROM build AS b
    WHERE EXISTS (
        SELECT FROM comparison AS k JOIN result AS m USING (build_id, series_id, measured_at)
        WHERE k.build_id = b.id AND k.measured_at = b.created_at AND k.error IS NOT NULL OFFSET 0
    ) AND {_IS_MERGED} IS """  # noqa: S608 - put together from constants
# A build that known failures matched keeps its failures, because pages show why it did not count.
_FAILURES: Final = f"""
    SELECT b.id, b.finished_at AS at,
           NOT {_HELD} AND NOT EXISTS (SELECT FROM known_match AS m WHERE m.build_id = b.id) AS may_go
    FROM build AS b WHERE b.id IN (SELECT build_id FROM failure)"""  # noqa: S608 - put together from constants
_RECORDS: Final[Mapping[Kind, str]] = {
    Kind.EVENTS: "SELECT v.id, v.received_at AS at, v.handled_at IS NOT NULL AS may_go FROM event AS v",
    Kind.LOGS: f"{_LOGS} true",
    Kind.FAILED_LOGS: f"{_LOGS} NOT true",
    Kind.FAILURES: _FAILURES,
    Kind.PROGRAMS: f"{_PROGRAMS} NOT true",
    Kind.MERGED_PROGRAMS: f"{_PROGRAMS} true",
    Kind.PAIRS: f"{_PAIRS} NOT true",
    Kind.MERGED_PAIRS: f"{_PAIRS} true",
    Kind.SAMPLES: f"{_SAMPLES} NOT true",
    Kind.MERGED_SAMPLES: f"{_SAMPLES} true",
}
# An explanation that may answer claims goes with its build, as the comparisons that answer the others do.
_DROP_LOGS: Final = (
    """
    DELETE FROM explanation AS x USING build AS b
    WHERE b.id = ANY (:ids) AND x.build_id = b.id AND b.spec -> 'claimed_names' IS NULL
    """,
    "DELETE FROM log_chunk WHERE build_id = ANY (:ids)",
    "DELETE FROM log_end WHERE build_id = ANY (:ids)",
)
# A new failure of a signature changes its time first, so that this waits for it and then leaves it alone.
_DROP_FAILURES: Final = (
    "DELETE FROM failure WHERE build_id = ANY (:ids)",
    """
    WITH old AS (
        SELECT s.id FROM signature AS s
        WHERE s.last_seen_at < now() - make_interval(days => :days)
            AND NOT EXISTS (SELECT FROM failure AS f WHERE f.signature_id = s.id)
            AND NOT EXISTS (
                SELECT FROM known_failure AS k WHERE k.signature_id = s.id AND k.state <> 'untriaged'
            )
        ORDER BY s.id LIMIT :most FOR UPDATE
    ), proposal AS (
        DELETE FROM known_failure AS k USING old WHERE k.signature_id = old.id AND k.state = 'untriaged'
    )
    DELETE FROM signature AS s USING old WHERE s.id = old.id
    """,
)
# A build that is planned later would continue a sequence with holes, so it must not find this one.
_DROP_PAIRS: Final = (
    "DELETE FROM launch WHERE sequence_id = ANY (:ids)",
    f"UPDATE sequence SET digest = concat('{RETIRED}', id, ' ', digest) WHERE id = ANY (:ids)",  # noqa: S608
)
_DROP_PROGRAMS: Final = ("DELETE FROM kept_binary WHERE digest = ANY (:ids)",)
_DROP_SAMPLES: Final = (
    """
    DELETE FROM result AS m USING comparison AS k, build AS b
    WHERE b.id = ANY (:ids) AND k.build_id = b.id AND k.measured_at = b.created_at AND k.error IS NOT NULL
      AND m.build_id = b.id AND m.measured_at = b.created_at AND m.series_id = k.series_id
    """,
)
_DROP: Final[Mapping[str, tuple[str, ...]]] = {
    "events": ("DELETE FROM event WHERE id = ANY (:ids)",),
    "logs": _DROP_LOGS,
    "failures": _DROP_FAILURES,
    "programs": _DROP_PROGRAMS,
    "pairs": _DROP_PAIRS,
    "samples": _DROP_SAMPLES,
}
# Equal bytes have one artifact, so records of several kinds may name it. All columns with artifacts are here.
_NAMED: Final = """
SELECT artifact, min(name) AS name FROM (
    SELECT artifact, 'pairs' AS name FROM launch WHERE {pairs}
    UNION ALL SELECT artifact, 'programs' FROM kept_binary WHERE {programs}
    UNION ALL SELECT artifact, 'logs' FROM log_chunk WHERE {logs}
    UNION ALL SELECT log, 'logs' FROM build
    UNION ALL SELECT execution ->> 'tests', 'tests' FROM build
) AS named
WHERE starts_with(artifact, :prefix) GROUP BY artifact
"""
_KEEP_POLICY: Final = text("""
INSERT INTO pulse (part, beat_at, note) VALUES (:part, now(), :note)
ON CONFLICT (part) DO UPDATE SET note = :note
""")
_MARK_PRUNED: Final = text("UPDATE pulse SET beat_at = now() WHERE part = :part")
_POLICY: Final = text("SELECT note FROM pulse WHERE part = :part AND note <> ''")
_SITE: Final = text("SELECT id FROM site")
_FORGET_SIZES: Final = text("DELETE FROM stored_size WHERE part IN ('', :part)")
_STORE_SIZE: Final = text("""
INSERT INTO stored_size (name, part, artifacts, artifact_bytes) VALUES (:name, :part, :artifacts, :bytes)
""")
# Sizes of tables and estimated counts are cheap to read. Partitioned tables have those of their parts.
_STORE_TABLES: Final = text("""
WITH tables (name, relation, is_counted) AS (
    VALUES ('events', 'event', true), ('logs', 'log_end', true), ('logs', 'log_chunk', false),
           ('logs', 'explanation', false),
           ('failures', 'failure', true), ('failures', 'signature', false), ('programs', 'kept_binary', true),
           ('pairs', 'launch', true), ('pairs', 'sequence', false),
           ('samples', 'result', true), ('comparisons', 'comparison', true),
           ('builds', 'build', true), ('builds', 'run_build', false), ('builds', 'run', false),
           ('builds', 'revision_claims', false)
)
INSERT INTO stored_size (name, part, records, database_bytes)
SELECT t.name, '', coalesce(sum(greatest(c.reltuples, 0)) FILTER (WHERE is_counted), 0),
       sum(pg_total_relation_size(c.oid))
FROM tables AS t JOIN pg_class AS c ON c.relkind = 'r' AND (
    c.oid = cast(t.relation AS regclass)
    OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = cast(t.relation AS regclass))
)
GROUP BY t.name
""")


def _due(kind: Kind, days: str = ":days") -> str:
    """Select the numbers of records that may go; the texts are those above."""
    return (
        f"SELECT id FROM ({_RECORDS[kind]}) AS record"  # noqa: S608
        f" WHERE may_go AND at < now() - make_interval(days => {days})"
    )


def _named(without: Policy) -> TextClause:
    stay: dict[str, str] = {}
    for name, column in {"pairs": "sequence_id", "programs": "digest", "logs": "build_id"}.items():
        kinds = {kind: days for kind, days in without.items() if kind.stored_as == name and days is not None}
        selects = [_due(kind, str(int(days))) for kind, days in kinds.items()]
        stay[name] = f"{column} NOT IN ({' UNION ALL '.join(selects)})" if selects else "true"
    return text(_NAMED.format_map(stay))


class PostgresRetention(ShortTransactions, Retention):
    """Old records in the database.

    Args:
        engine: connections of a role that owns the tables.
    """

    @override
    def delete_expired(self, kind: Kind, days: int, most: int) -> int:
        with self._begin() as connection:
            # Others use those that are locked. What changed before the lock shows in a query after it.
            locked = text(f"{_due(kind)} ORDER BY id LIMIT :most FOR UPDATE SKIP LOCKED")
            ids = list(connection.execute(locked, {"days": days, "most": most}).scalars())
            again = text(f"{_due(kind)} AND id = ANY (:ids)")
            ids = list(connection.execute(again, {"days": days, "ids": ids}).scalars())
            for statement in _DROP[kind.stored_as]:
                connection.execute(text(statement), {"ids": ids, "days": days, "most": most})
        return len(ids)

    @override
    def supply(self, kind: Kind, days: int | None) -> Supply:
        counted = text(
            "SELECT count(*) AS records, min(at) AS oldest, count(*) FILTER ("  # noqa: S608 - put together from constants
            " WHERE may_go AND at < now() - make_interval(days => coalesce(cast(:days AS integer), 0)))"
            " AS expired"
            f" FROM ({_RECORDS[kind]}) AS record"
        )
        [found] = self._all(counted, days=days)
        return Supply(
            records=found.records, expired=None if days is None else found.expired, oldest_at=found.oldest
        )

    @override
    def keep_policy(self, policy: Policy) -> None:
        self._do(_KEEP_POLICY, part=PRUNE, note=json.dumps(policy))

    @override
    def mark_pruned(self) -> None:
        self._do(_MARK_PRUNED, part=PRUNE)

    @override
    def kept_policy(self) -> Policy | None:
        found = self._all(_POLICY, part=PRUNE)
        if not found:
            return None
        days = json.loads(found[0].note)
        return {kind: days.get(kind) for kind in Kind}  # kinds that its version lacks are kept

    @override
    def site(self) -> str:
        [found] = self._all(_SITE)
        return str(found.id)

    @override
    def named(self, prefix: str, without: Policy | None = None) -> Mapping[str, str]:
        return {row.artifact: row.name for row in self._all(_named(without or {}), prefix=prefix)}

    @override
    def store_sizes(self, part: str, artifacts: Mapping[str, Collection[int]]) -> None:
        with self._begin() as connection:
            connection.execute(_FORGET_SIZES, {"part": part})
            connection.execute(_STORE_TABLES)
            for name, sizes in artifacts.items():
                found = {"artifacts": len(sizes), "bytes": sum(sizes)}
                connection.execute(_STORE_SIZE, {"name": name, "part": part, **found})
