"""Store the claims of commit messages, and find the comparisons that answer them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import structlog
from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.adapters.postgres.persisted import claims_from, mappings_of_claims, reasons_from
from service.adapters.postgres.rows import from_row
from service.adapters.postgres.runs.shown_builds import job_of
from service.adapters.postgres.storable import clean
from service.adapters.postgres.verdict.shown_comparisons import COMPARED
from service.domain.claims.answers import MeasuredRow, plain_name, with_new_names
from service.domain.claims.left_out import answering, left_out_in
from service.domain.claims.near import MOST_COMPARED
from service.domain.values.errors import BadResults
from service.domain.verdict.inference.reasons import ReasonKind
from service.ports.claims import Claims

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection, RowMapping

    from service.domain.claims.values import Claim
    from service.domain.project.job import Job

_LOG: Final = structlog.get_logger(__name__)
_KINDS: Final = frozenset(ReasonKind)
_BUILDS: Final = text("""
SELECT rb.run_id, r.project, r.branch, b.id, b.job, b.created_at, b.spec ->> 'config' AS configuration,
       b.spec -> 'claimed_names' AS names,
       CASE jsonb_typeof(e.facts -> 'online_cpus')
           WHEN 'array' THEN jsonb_array_length(e.facts -> 'online_cpus') ELSE 0 END AS cpus
FROM run_build AS rb JOIN run AS r ON r.id = rb.run_id JOIN build AS b ON b.id = rb.build_id
LEFT JOIN environment AS e ON e.id = b.environment_id
WHERE rb.run_id = ANY (cast(:runs AS bigint[])) ORDER BY rb.run_id, rb.position, b.id
""")
_PACKED: Final = text("SELECT build_id, packed FROM explanation WHERE build_id = ANY (:builds)")
# A build compares a thousand series, and few of them are claimed. The names are joined, because a prepared
# statement compares each series with each element of an array.
_SERIES: Final = text("""
SELECT project, branch, job, benchmark, array_agg(id) AS ids FROM series
WHERE job = ANY (cast(:job AS text[])) AND project = ANY (cast(:project AS text[]))
  AND benchmark IN (SELECT unnest(cast(:names AS text[]))) GROUP BY project, branch, job, benchmark
""")
# Each is looked up with its own moment, so that only the partition that holds it is opened.
_COMPARISONS: Final = text(f"""
SELECT k.build_id, s.job, s.suite, s.benchmark, s.metric, {COMPARED}, k.reasons
FROM unnest(cast(:builds AS bigint[]), cast(:moments AS timestamptz[]), cast(:series AS bigint[]))
    AS of (build_id, measured_at, series_id)
JOIN LATERAL (
    -- The offset keeps the planner from turning the look-up into a scan of all partitions.
    SELECT * FROM comparison AS c WHERE c.build_id = of.build_id AND c.measured_at = of.measured_at
        AND c.series_id = of.series_id OFFSET 0
) AS k ON true
JOIN series AS s ON s.id = k.series_id
ORDER BY k.build_id, k.position, k.series_id
""")  # noqa: S608 - put together from constants
_NAMES: Final = text(f"""
SELECT s.benchmark
FROM run_build AS rb
JOIN build AS b ON b.id = rb.build_id
JOIN LATERAL (
    SELECT * FROM comparison WHERE build_id = b.id AND measured_at = b.created_at OFFSET 0
) AS k ON true
JOIN series AS s ON s.id = k.series_id
WHERE rb.run_id = :run_id
GROUP BY s.benchmark ORDER BY min(ARRAY[rb.position, k.position]), s.benchmark LIMIT {MOST_COMPARED}
""")  # noqa: S608 - put together from constants


class PostgresClaims(Connected, Claims):
    """Rows of the table ``revision_claims``."""

    @override
    def keep(self, instance: str, project: str, revision: str, claims: Sequence[Claim]) -> None:
        values = {"instance": instance, "project": project, "revision": revision}
        row = insert(t.revision_claims).values(claims=mappings_of_claims(claims), **values)
        self._execute(row.on_conflict_do_nothing())

    @override
    def of(self, instance: str, project: str, revision: str) -> Sequence[Claim]:
        c = t.revision_claims.c
        stored = self._execute(
            select(c.claims).where(c.instance == instance, c.project == project, c.revision == revision)
        ).scalar()
        return readable_claims(stored or (), revision)

    @override
    def measured(self, run_id: int, benchmarks: Collection[str]) -> Sequence[MeasuredRow]:
        return rows_of_runs(self._connection, {run_id: benchmarks}).get(run_id, ())

    @override
    def compared(self, run_id: int) -> Sequence[str]:
        return self._execute(_NAMES, {"run_id": run_id}).scalars().all()


def readable_claims(stored: Iterable[Mapping[str, Any]], revision: str) -> tuple[Claim, ...]:
    """Read stored claims; none if they cannot be read, because nothing depends on them."""
    try:
        return claims_from(stored)
    except ValueError as error:
        _LOG.warning("claims.unreadable", revision=revision, error=repr(error))
        return ()


def rows_of_runs(
    connection: Connection, benchmarks: Mapping[int, Collection[str]]
) -> Mapping[int, Sequence[MeasuredRow]]:
    """Return by run what its builds measured of its ``benchmarks``, as :meth:`Claims.measured`."""
    builds = connection.execute(_BUILDS, {"runs": list(benchmarks)}).mappings().all()
    jobs = {each["id"]: (_job(each["job"], each["configuration"]), each["cpus"]) for each in builds}
    benchmarks = {
        run: with_new_names(of_run, [jobs[each["id"]][0] for each in builds if each["run_id"] == run])
        for run, of_run in benchmarks.items()
    }
    keys = {name: list({each[name] for each in builds}) for name in ("job", "project")}
    keys["names"] = [clean(name) for of_run in benchmarks.values() for name in of_run]
    series = {tuple(row[:-1]): row.ids for row in connection.execute(_SERIES, keys)}
    wanted = {
        (each["id"], each["created_at"], one)
        for each in builds
        for name in benchmarks[each["run_id"]]
        for one in series.get((each["project"], each["branch"], each["job"], clean(name)), ())
    }
    keys = {name: [each[k] for each in wanted] for k, name in enumerate(("builds", "moments", "series"))}
    rows: dict[int, list[MeasuredRow]] = {}
    for row in connection.execute(_COMPARISONS, keys).mappings():
        build = row["build_id"]
        rows.setdefault(build, []).append(_measured(row, *jobs[build]))
    found: dict[int, list[MeasuredRow]] = {}
    for each in builds:
        found.setdefault(each["run_id"], []).extend(rows.get(each["id"], ()))
    asked = [
        each for each in builds if _is_missing(each["names"], jobs[each["id"]][0], found[each["run_id"]])
    ]
    packed = _packed(connection, [each["id"] for each in asked])
    left_out: dict[int, list[MeasuredRow]] = {}
    for each in (each for each in builds if each["id"] in packed):
        build = each["id"]
        left_out.setdefault(each["run_id"], []).extend(_left_out(each, packed[build], *jobs[build]))
    return {run: answering(of, left_out.get(run, ()), benchmarks[run]) for run, of in found.items()}


@lru_cache(maxsize=64)  # most builds have the configuration of the one before
def _job(name: str, configuration: str | None) -> Job | None:
    return job_of(name, json.loads(configuration)) if configuration else None


def _is_missing(names: Iterable[str] | None, job: Job | None, found: Iterable[MeasuredRow]) -> bool:
    """Return whether a benchmark that a build was asked for was compared under none of its names."""
    compared = {row.benchmark for row in found}
    plain = {plain_name(name) for name in names or ()} - compared
    return any(compared.isdisjoint(with_new_names([name], [job])) for name in plain)


def _packed(connection: Connection, builds: Sequence[int]) -> Mapping[int, bytes]:
    rows = connection.execute(_PACKED, {"builds": builds}) if builds else ()  # large
    return {row.build_id: bytes(row.packed) for row in rows}


def _left_out(build: RowMapping, packed: bytes, job: Job | None, cpus: int) -> tuple[MeasuredRow, ...]:
    """Read what a machine measured for claims; none if it cannot be read, because nothing depends on it."""
    try:
        rows = left_out_in(packed)
    except BadResults as error:
        _LOG.warning("claims.unreadable_rows", id=build["id"], error=repr(error))
        return ()
    return tuple(
        replace(row, job=build["job"], cpus=cpus, **MeasuredRow.fields_of(job, row.suite)) for row in rows
    )


def _measured(row: RowMapping, job: Job | None, cpus: int) -> MeasuredRow:
    of_job = MeasuredRow.fields_of(job, row["suite"])
    plain = from_row(MeasuredRow, row, per="", is_same_program=False, is_doubtful=False, cpus=cpus, **of_job)
    known = [each for each in row["reasons"] or () if each["kind"] in _KINDS]  # not those of a later version
    return plain.with_reasons(reasons_from(known))
