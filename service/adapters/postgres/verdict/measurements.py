"""Store measurements in a unit of work: pairs, results, and A/A evidence."""

from __future__ import annotations

import json
from dataclasses import fields
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import psycopg
from sqlalchemy import delete, false, func, or_, select, text, update
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.adapters.postgres.persisted import listings_from, mappings_of
from service.adapters.postgres.rows import from_row
from service.adapters.postgres.storable import clean, clean_json
from service.domain.values.identity import RunKind, Side
from service.domain.verdict.calibration.evidence import RECALLED, History, Session
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.reasons import NOT_BY_PAIRS
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.reasons import text_of
from service.ports.verdict import Compared, Evidence, Explanations, ImportedValues, Measurements, StoredPair

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, RowMapping

    from service.domain.building.findings import Finding
    from service.domain.measuring.listing import Listing
    from service.domain.runs.slowdown import Slowdown
    from service.domain.values.identity import SeriesKey
    from service.domain.verdict.inference.reasons import ReasonKind
    from service.domain.verdict.trend.imported import ImportedValue
    from service.ports.runs.builds import BuildRecord
    from service.ports.verdict import StoredComparison, StoredResult

_PARTS: Final = ("instance", "project", "branch", "machine_class", "job", "suite", "benchmark", "metric")
_SIDES: Final = {Side.BASE: 0, Side.PATCH: 1}
_KINDS: Final = {
    RunKind.CHECK: 0,
    RunKind.POST_SUBMIT: 1,
    RunKind.CALIBRATION: 2,
    RunKind.ANCHOR: 3,
    RunKind.LONGER: 4,
}

# Sorted by digest, so that two builds that add the same series wait for each other instead of deadlocking.
_ADD_SERIES: Final = """
INSERT INTO series (
    digest, instance, project, branch, machine_class, job, suite, benchmark, metric, unit, better)
SELECT n.* FROM unnest(%s::bytea[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[],
                       %s::text[], %s::text[], %s::text[], %s::text[])
    AS n (digest, instance, project, branch, machine_class, job, suite, benchmark, metric, unit, better)
ORDER BY n.digest
ON CONFLICT (digest) DO UPDATE SET unit = excluded.unit WHERE series.unit <> excluded.unit
"""
_FIND_SERIES: Final = "SELECT digest, id, unit FROM series WHERE digest = ANY(%b::bytea[])"
_COPY_RESULTS: Final = "COPY result (measured_at, build_id, series_id, side, samples) FROM STDIN"
_COMPARED: Final = tuple(each.name for each in fields(Compared))
_COPY_COMPARISONS: Final = (
    "COPY comparison (measured_at, series_id, build_id, kind, position,"
    f" {', '.join(_COMPARED)}, reason, reasons) FROM STDIN"
)
_STORE_IMPORTED: Final = """
INSERT INTO imported_value (series_id, commit, moment, position, value)
SELECT n.* FROM unnest(%s::bigint[], %s::text[], %s::timestamptz[], %s::integer[], %s::double precision[])
    AS n (series_id, commit, moment, position, value)
ORDER BY n.series_id, n.commit
ON CONFLICT (series_id, commit) DO UPDATE
SET moment = excluded.moment, position = excluded.position, value = excluded.value
WHERE (imported_value.moment, imported_value.position, imported_value.value)
    IS DISTINCT FROM (excluded.moment, excluded.position, excluded.value)
"""
_OF_JOB: Final = ("instance", "project", "branch", "machine_class", "job", "suite")
_REMOVE_IMPORTED: Final = text(f"""
DELETE FROM imported_value AS gone USING series
WHERE series.id = gone.series_id AND {" AND ".join(f"series.{each} = :{each}" for each in _OF_JOB)}
  AND :commit IN ('', gone.commit) AND gone.series_id <> ALL (cast(:kept AS bigint[]))
RETURNING gone.series_id
""")  # noqa: S608 - put together from constants
# Each result has a comparison.
_DROP_SERIES: Final = text("""
DELETE FROM series
WHERE id = ANY (cast(:series AS bigint[])) AND continues IS NULL
  AND NOT EXISTS (SELECT FROM series AS newer WHERE newer.continues = series.id)
  AND NOT EXISTS (SELECT FROM imported_value AS other WHERE other.series_id = series.id)
  AND NOT EXISTS (SELECT FROM comparison AS other WHERE other.series_id = series.id)
  AND NOT EXISTS (SELECT FROM evidence AS other WHERE other.series_id = series.id)
  AND NOT EXISTS (SELECT FROM regressed_result AS other WHERE other.series_id = series.id)
""")
_COUNT_MEASURED: Final = text("""
SELECT count(*) FROM series WHERE digest = ANY (cast(:digests AS bytea[]))
  AND EXISTS (SELECT FROM comparison AS measured WHERE measured.series_id = series.id)
""")
_NOT_CONTINUED: Final = text("""
SELECT newer.id AS newer, older.id AS older
FROM unnest(cast(:new AS bytea[]), cast(:old AS bytea[])) AS n (new, old)
JOIN series AS newer ON newer.digest = n.new AND newer.continues IS NULL
JOIN series AS older ON older.digest = n.old AND older.id <> newer.id
WHERE NOT EXISTS (SELECT FROM series AS other WHERE other.continues = older.id)
ORDER BY newer.id
FOR UPDATE OF newer
""")
# A benchmark that gets its former name back: without this, each series would continue another one.
_LET_GO: Final = text("""
WITH RECURSIVE before AS (
    SELECT id, continues FROM series WHERE id = :older
    UNION SELECT s.id, s.continues FROM series AS s JOIN before ON s.id = before.continues
)
UPDATE series SET continues = NULL WHERE continues = :newer AND id IN (SELECT id FROM before)
""")
_CONTINUE: Final = text("""
UPDATE series SET continues = :older
WHERE id = :newer AND NOT EXISTS (SELECT FROM series AS other WHERE other.continues = :older)
""")
# Pairs do not say which machine measured them, nor in which environment: a session stays that of the first.
_STORE: Final = text("""
INSERT INTO evidence (series_id, sequence_id, machine, build_id, logs, verdict)
SELECT id, :sequence, :machine, :build, cast(:logs AS real[]), :verdict FROM series WHERE digest = :digest
ON CONFLICT (series_id, sequence_id) DO UPDATE SET
    build_id = excluded.build_id, logs = excluded.logs, verdict = excluded.verdict
WHERE evidence.machine = excluded.machine AND (
    SELECT count(DISTINCT environment_id) < 2 FROM build WHERE id IN (evidence.build_id, excluded.build_id))
""")
SESSIONS: Final = """
    SELECT logs, verdict, build_id, created_at,
           row_number() OVER (ORDER BY sequence_id DESC) AS place,
           count(*) OVER () AS sessions,
           sum(cardinality(logs)) OVER () AS pairs,
           count(*) FILTER (WHERE verdict IN ('slower', 'faster')) OVER () AS alarms
"""


def sessions_on_machine(series: str) -> str:
    """Return what to select the sessions of a machine ``m`` from, in SQL: those of its current installation.

    They are of the machine's current environment, or of builds that stored none, and of all branches; those
    with equal trees share a sequence, which counts once. ``series`` is an array of ids.
    """
    return f"""(
    SELECT DISTINCT ON (found.sequence_id) found.*
    FROM series AS one
    JOIN series AS same ON same.kin = one.kin
    JOIN evidence AS found ON found.series_id = same.id AND found.machine = m.name
    JOIN build AS measuring ON measuring.id = found.build_id
    WHERE one.id = ANY ({series}) AND found.created_at >= m.since
      AND coalesce(measuring.environment_id = m.environment_id, true)
    ORDER BY found.sequence_id, found.created_at
) AS counted"""  # noqa: S608 - put together from constants


_FIND: Final = text(f"""
SELECT s.digest, e.logs, e.verdict, e.sessions, e.pairs, e.alarms
FROM series AS s CROSS JOIN machine AS m
JOIN LATERAL (
    {SESSIONS} FROM {sessions_on_machine("ARRAY[s.id, s.continues]")}
    WHERE sequence_id IS DISTINCT FROM cast(:without AS bigint)
) AS e ON e.place <= :recalled
WHERE s.digest = ANY(cast(:digests AS bytea[])) AND m.name = :machine
ORDER BY s.digest, e.place
""")  # noqa: S608 - put together from constants


class PostgresMeasurements(Connected, Measurements, ImportedValues):
    """Rows of the tables ``launch``, ``series``, ``result`` and ``comparison``.

    Results are many rows at once; storing them again replaces them.
    """

    @override
    def stored_pairs(self, sequence_id: int) -> Sequence[StoredPair]:
        rows = self._execute(
            select(t.launch.c.pair, t.launch.c.artifact, t.launch.c.variant)
            .where(t.launch.c.sequence_id == sequence_id)
            .distinct()
            .order_by(t.launch.c.variant, t.launch.c.pair)
        )
        return [StoredPair(row.pair, row.artifact, row.variant) for row in rows]

    @override
    def listings(self, sequence_id: int) -> Sequence[Listing]:
        fixed = self._execute(select(t.sequence.c.listing).where(t.sequence.c.id == sequence_id)).scalar()
        return listings_from(fixed or ())

    @override
    def disturbed_pairs(self, sequence_id: int) -> Mapping[int, bool]:
        is_disturbed = func.bool_or(t.launch.c.facts["disturbed"].as_boolean())
        found = self._execute(
            select(t.launch.c.pair, func.coalesce(is_disturbed, false()).label("is_disturbed"))
            .where(t.launch.c.sequence_id == sequence_id, t.launch.c.variant == 0)
            .group_by(t.launch.c.pair)
        )
        return {row.pair: row.is_disturbed for row in found}

    @override
    def store_results(
        self,
        build: BuildRecord,
        kind: RunKind,
        series: Mapping[SeriesKey, tuple[str, str]],
        results: Sequence[StoredResult],
        comparisons: Sequence[StoredComparison],
    ) -> None:
        ids = self._series_ids(series)
        moment = build.created_at
        for table in (t.result, t.comparison):
            # The moment says in which partition to look.
            self._execute(delete(table).where(table.c.build_id == build.id, table.c.measured_at == moment))
        self._copy(
            _COPY_RESULTS,
            ((moment, build.id, ids[r.series], _SIDES[r.side], _array(r.samples)) for r in results),
        )
        self._copy(
            _COPY_COMPARISONS,
            ((moment, ids[c.series], build.id, _KINDS[kind], *_judgement(c)) for c in comparisons),
        )

    @override
    def replace_imported(
        self,
        of: SeriesKey,
        commit: str,
        series: Mapping[SeriesKey, tuple[str, str]],
        values: Mapping[SeriesKey, ImportedValue],
    ) -> int:
        ids = self._series_ids(series)
        gone = self._remove_imported(of, commit, [ids[key] for key in values])
        columns = [
            [ids[key] for key in values],
            [commit] * len(values),
            *([getattr(each, name) for each in values.values()] for name in ("moment", "position", "value")),
        ]
        with self._driver.cursor() as cursor:
            return len(gone) + cursor.execute(_STORE_IMPORTED, columns).rowcount

    @override
    def remove_imported(self, of: SeriesKey, commit: str = "") -> int:
        # A step that found the number of a series stores results under it: none may be between the two.
        self._execute(text("SET LOCAL lock_timeout = '5s'"))
        self._execute(text("LOCK TABLE series IN ACCESS EXCLUSIVE MODE"))
        gone = self._remove_imported(of, commit)
        self._execute(_DROP_SERIES, {"series": list(set(gone))})
        return len(gone)

    @override
    def count_measured(self, series: Collection[SeriesKey]) -> int:
        digests = [each.digest for each in series]
        count: int = self._execute(_COUNT_MEASURED, {"digests": digests}).scalar_one()
        return count

    def _remove_imported(self, of: SeriesKey, commit: str, kept: Sequence[int] = ()) -> Sequence[int]:
        """Remove values except of the series to keep; return the series of each."""
        parts = {name: clean(getattr(of, name)) for name in _OF_JOB}
        return (
            self._execute(_REMOVE_IMPORTED, {**parts, "commit": commit, "kept": list(kept)}).scalars().all()
        )

    @override
    def unresolved_benchmarks(self, build_id: int) -> Sequence[str]:
        found = self._execute(
            select(t.series.c.benchmark)
            .distinct()
            .join(t.comparison, t.comparison.c.series_id == t.series.c.id)
            .where(
                t.comparison.c.build_id == build_id,
                t.comparison.c.verdict == Verdict.UNDECIDED.value,
                ~func.coalesce(or_(*map(_has_reason, sorted(NOT_BY_PAIRS))), false()),
                t.series.c.metric != INSTRUCTIONS.name,
            )
            .order_by(t.series.c.benchmark)
        )
        return [row.benchmark for row in found]

    @override
    def store_findings(self, build_id: int, findings: Sequence[Finding]) -> None:
        stored = update(t.build).where(t.build.c.id == build_id)
        self._execute(stored.values(findings=mappings_of(findings)))

    @override
    def continue_series(self, former: Mapping[SeriesKey, SeriesKey]) -> None:
        digests = {new.digest: old.digest for new, old in former.items()}
        if not digests:
            return
        keys = {"new": list(digests), "old": list(digests.values())}
        for newer, older in self._execute(_NOT_CONTINUED, keys).all():
            link = {"newer": newer, "older": older}
            self._execute(_LET_GO, link)
            self._execute(_CONTINUE, link)

    @override
    def store_slowdowns(self, build_id: int, slowdowns: Sequence[Slowdown]) -> None:
        stored = update(t.build).where(t.build.c.id == build_id)
        self._execute(stored.values(slowdowns=mappings_of(slowdowns)))

    def _series_ids(self, series: Mapping[SeriesKey, tuple[str, str]]) -> dict[SeriesKey, int]:
        digests = {key: key.digest for key in series}
        found = self._find_series(list(digests.values()))
        # Only missing rows are inserted: each conflict uses up a number, and nearly all are stored already.
        units = {digest: unit for digest, (_, unit) in found.items()}
        missing = [key for key, digest in digests.items() if units.get(digest) != clean(series[key][0])]
        if missing:
            self._add_series(missing, digests, series)
            found |= self._find_series([digests[key] for key in missing])
        return {key: found[digest][0] for key, digest in digests.items()}

    def _find_series(self, digests: list[bytes]) -> dict[bytes, tuple[int, str]]:
        """Map the digest of each series that is stored to its number and unit."""
        with self._driver.cursor() as cursor:
            cursor.execute(_FIND_SERIES, [digests], binary=True)
            return {bytes(digest): (int(number), str(unit)) for digest, number, unit in cursor}

    def _add_series(
        self,
        keys: Sequence[SeriesKey],
        digests: Mapping[SeriesKey, bytes],
        series: Mapping[SeriesKey, tuple[str, str]],
    ) -> None:
        columns: list[list[bytes] | list[str]] = [[digests[key] for key in keys]]
        columns += [[clean(getattr(key, name)) for key in keys] for name in _PARTS]
        columns += [[clean(series[key][i]) for key in keys] for i in (0, 1)]
        with self._driver.cursor() as cursor:
            cursor.execute(_ADD_SERIES, columns)

    def _copy(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        with self._driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)

    @property
    def _driver(self) -> psycopg.Connection:
        # SQLAlchemy has no COPY; the driver's own connection is in the same transaction.
        driver = self._connection.connection.driver_connection
        if not isinstance(driver, psycopg.Connection):
            raise TypeError(f"a connection of psycopg is needed, not {type(driver).__name__}")
        return driver


class PostgresExplanations(Connected, Explanations):
    """Rows of the table ``explanation``, which machines store."""

    @override
    def packed_of(self, builds: Sequence[int]) -> Mapping[int, bytes]:
        found = select(t.explanation).where(t.explanation.c.build_id.in_(builds))
        return {row.build_id: bytes(row.packed) for row in self._execute(found)}


class PostgresEvidence(Connected, Evidence):
    """Rows of the table ``evidence``."""

    @override
    def store(self, build: BuildRecord, sessions: Mapping[SeriesKey, Session]) -> None:
        rows = [
            {
                "sequence": build.sequence_id,
                "machine": build.machine,
                "build": build.id,
                "logs": list(session.logs),
                "verdict": session.verdict.value,
                "digest": key.digest,
            }
            for key, session in sessions.items()
        ]
        if rows:
            self._execute(_STORE, rows)

    @override
    def of(
        self, machine: str, series: Sequence[SeriesKey], without: int | None = None
    ) -> Mapping[SeriesKey, History]:
        keys = {key.digest: key for key in series}
        values = {"machine": machine, "digests": list(keys), "recalled": RECALLED, "without": without}
        by_series = groupby(self._execute(_FIND, values).mappings(), key=itemgetter("digest"))
        return {keys[bytes(digest)]: history_of(rows) for digest, rows in by_series}


def _array(samples: Sequence[float | None]) -> str:
    # Written here: the driver looks for quotes in every number, which takes most of the time of a COPY.
    return "{" + ",".join("NULL" if value is None else repr(float(value)) for value in samples) + "}"


def _judgement(c: StoredComparison) -> tuple[object, ...]:
    numbers = (c.position, *(getattr(c, name) for name in _COMPARED))
    if not c.reasons:
        return *numbers, "", None
    # The text is for the version before typed reasons, which may still read.
    typed = json.dumps(clean_json(mappings_of(c.reasons)))
    return *numbers, clean(text_of(c.reasons)), typed


def _has_reason(kind: ReasonKind) -> ColumnElement[bool]:
    return t.comparison.c.reasons.contains([{"kind": kind.value}])


def history_of(rows: Iterable[RowMapping]) -> History:
    """Make a series' history on one machine from its rows, newest first; at least one row."""
    found = list(rows)
    newest = tuple(Session(tuple(row["logs"]), Verdict(row["verdict"])) for row in found)
    return from_row(History, found[0], newest=newest)
