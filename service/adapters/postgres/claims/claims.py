"""Store the claims of commit messages, and find the comparisons that answer them."""

from __future__ import annotations

from dataclasses import replace
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
from service.domain.claims.answers import Measured, with_new_names
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
SELECT rb.run_id, b.id, b.job, b.spec -> 'config' AS configuration, b.spec -> 'claimed' AS claimed,
       CASE jsonb_typeof(e.facts -> 'online_cpus')
           WHEN 'array' THEN jsonb_array_length(e.facts -> 'online_cpus') ELSE 0 END AS cpus
FROM run_build AS rb JOIN build AS b ON b.id = rb.build_id
LEFT JOIN environment AS e ON e.id = b.environment_id
WHERE rb.run_id = ANY (cast(:runs AS bigint[])) ORDER BY rb.run_id, rb.position, b.id
""")
_PACKED: Final = text("SELECT build_id, packed FROM explanation WHERE build_id = ANY (:builds)")
# Each build is looked up with its own moment, so that only the partition that holds it is opened.
_COMPARISONS: Final = text(f"""
SELECT b.id AS build_id, b.job, s.suite, s.benchmark, s.metric, {COMPARED}, k.reasons
FROM build AS b
JOIN LATERAL (
    -- The offset keeps the planner from turning the look-up into a scan of all partitions.
    SELECT * FROM comparison WHERE build_id = b.id AND measured_at = b.created_at OFFSET 0
) AS k ON true
JOIN series AS s ON s.id = k.series_id
WHERE b.id = ANY (cast(:builds AS bigint[])) AND s.benchmark = ANY (cast(:benchmarks AS text[]))
ORDER BY b.id, k.position, k.series_id
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
    def measured(self, run_id: int, benchmarks: Collection[str]) -> Sequence[Measured]:
        return rows_of_runs(self._connection, [run_id], benchmarks).get(run_id, ())

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
    connection: Connection, runs: Collection[int], benchmarks: Collection[str]
) -> Mapping[int, Sequence[Measured]]:
    """Return by run what its builds measured of these benchmarks, as :meth:`Claims.measured`."""
    builds = connection.execute(_BUILDS, {"runs": list(runs)}).mappings().all()
    jobs = {each["id"]: (job_of(each["job"], each["configuration"]), each["cpus"]) for each in builds}
    benchmarks = with_new_names(benchmarks, (job for job, _ in jobs.values()))
    keys = {"builds": list(jobs), "benchmarks": [clean(each) for each in benchmarks]}
    rows: dict[int, list[Measured]] = {}
    for row in connection.execute(_COMPARISONS, keys).mappings():
        build = row["build_id"]
        rows.setdefault(build, []).append(_measured(row, *jobs[build]))
    found: dict[int, list[Measured]] = {}
    for each in builds:
        found.setdefault(each["run_id"], []).extend(rows.get(each["id"], ()))
    packed = _packed(connection, builds, found)
    left_out: dict[int, list[Measured]] = {}
    for each in (each for each in builds if each["id"] in packed):
        build = each["id"]
        left_out.setdefault(each["run_id"], []).extend(_left_out(each, packed[build], *jobs[build]))
    return {run: answering(of, left_out.get(run, ()), benchmarks) for run, of in found.items()}


def _packed(
    connection: Connection, builds: Iterable[RowMapping], compared: Mapping[int, Iterable[Measured]]
) -> Mapping[int, bytes]:
    """Return what machines left of builds that were asked for benchmarks that their run did not compare."""
    names = {run: {row.benchmark for row in of} for run, of in compared.items()}
    asked = [each["id"] for each in builds if not names[each["run_id"]].issuperset(each["claimed"] or ())]
    rows = connection.execute(_PACKED, {"builds": asked}) if asked else ()  # large
    return {row.build_id: bytes(row.packed) for row in rows}


def _left_out(build: RowMapping, packed: bytes, job: Job | None, cpus: int) -> tuple[Measured, ...]:
    """Read what a machine measured for claims; none if it cannot be read, because nothing depends on it."""
    try:
        rows = left_out_in(packed)
    except BadResults as error:
        _LOG.warning("claims.unreadable_rows", id=build["id"], error=repr(error))
        return ()
    return tuple(
        replace(row, job=build["job"], cpus=cpus, **Measured.facts_of(job, row.suite)) for row in rows
    )


def _measured(row: RowMapping, job: Job | None, cpus: int) -> Measured:
    of_job = Measured.facts_of(job, row["suite"])
    plain = from_row(Measured, row, per="", is_same_program=False, is_doubtful=False, cpus=cpus, **of_job)
    known = [each for each in row["reasons"] or () if each["kind"] in _KINDS]  # not those of a later version
    return plain.with_reasons(reasons_from(known))
