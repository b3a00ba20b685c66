"""How runs, builds, comparisons and samples are read for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text

from service.adapters.postgres.reading.decisions import decisions_of
from service.adapters.postgres.reading.overrides import overrides_on, waivers_among
from service.domain.decision.overrides import sentence
from service.domain.errors import BadProjectFile, NotFound
from service.domain.inference.policy import Policy
from service.domain.project.project_file import parse_job
from service.ports.views import (
    BuildDetail,
    BuildSummary,
    ComparisonView,
    RunDetail,
    RunSummary,
    SamplesView,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping, TextClause

    from service.domain.decision.overrides import Override

_BUILD_COLUMNS: Final = """
    b.id, b.job, b.number, b.kind, b.pool, b.state, b.phase, b.result, b.outcome, b.causes, b.is_voting,
    b.attempt, b.machine, b.created_at, b.started_at, b.finished_at, b.external_number, b.url,
    b.spec -> 'config' AS configuration
"""
_RUN_COLUMNS: Final = """
    SELECT r.id, r.kind, r.state, r.project, r.branch, r.revision, r.parent, r.subject, r.author, r.reason,
           r.created_at, r.finished_at, r.label, r.patch_set_id, c.number AS change, p.number AS patch_set
    FROM run AS r
    LEFT JOIN patch_set AS p ON p.id = r.patch_set_id
    LEFT JOIN change AS c ON c.id = p.change_id
"""


def _query(*parts: str) -> TextClause:
    return text(" ".join(parts))


_BUILDS: Final = _query(
    "SELECT rb.is_reused, b.blamed,",
    _BUILD_COLUMNS,
    "FROM run_build AS rb JOIN build AS b ON b.id = rb.build_id",
    "WHERE rb.run_id = :run_id ORDER BY rb.position, b.id",
)
_BUILD: Final = _query(
    "SELECT false AS is_reused, b.log, b.environment_id, e.facts,",
    "coalesce(e.fingerprint, '') AS fingerprint,",
    _BUILD_COLUMNS,
    "FROM build AS b LEFT JOIN environment AS e ON e.id = b.environment_id",
    "WHERE b.job = :job AND b.number = :number",
)
_RUN: Final = _query(_RUN_COLUMNS, "WHERE r.id = :run_id")
_RUNS_OF_BUILD: Final = _query(
    _RUN_COLUMNS,
    "WHERE r.id IN (SELECT run_id FROM run_build WHERE build_id = :build_id)",
    "ORDER BY r.id DESC LIMIT 20",
)
# measured_at is given as a value everywhere below: with it the planner opens one partition only.
_COMPARISONS: Final = text("""
SELECT c.series_id, s.suite, s.benchmark, s.metric, s.unit, s.better, c.verdict, c.pairs,
       c.ratio, c.low, c.high, c.base, c.patch, c.reason
FROM comparison AS c JOIN series AS s ON s.id = c.series_id
WHERE c.build_id = :build_id AND c.measured_at = :measured_at
ORDER BY c.position, c.series_id
""")
_SAMPLES: Final = text("""
SELECT r.side, r.samples, s.suite, s.benchmark, s.metric, s.unit, s.better
FROM result AS r JOIN series AS s ON s.id = r.series_id
WHERE r.build_id = :build_id AND r.measured_at = :measured_at AND r.series_id = :series_id
ORDER BY r.side
""")


def run_detail(connection: Connection, run_id: int) -> RunDetail:
    """A run with its builds and decisions."""
    row = connection.execute(_RUN, {"run_id": run_id}).mappings().first()
    if row is None:
        raise NotFound(f"there is no run {run_id}")
    made = () if row["patch_set_id"] is None else overrides_on(connection, row["patch_set_id"])
    run = run_summary(row)
    return RunDetail(
        run=run,
        builds=builds_of_run(connection, run, made),
        decisions=decisions_of(connection, run_id=run_id),
    )


def build_detail(connection: Connection, job: str, number: int) -> BuildDetail:
    """A build with its environment and the runs it takes part in."""
    row = connection.execute(_BUILD, {"job": job, "number": number}).mappings().first()
    if row is None:
        raise NotFound(f"there is no build {job}/{number}")
    runs = connection.execute(_RUNS_OF_BUILD, {"build_id": row["id"]}).mappings()
    return BuildDetail(
        build=_build(row),
        runs=tuple(run_summary(each) for each in runs),
        log=row["log"],
        environment_id=row["environment_id"],
        fingerprint=row["fingerprint"],
        environment=row["facts"] or {},
    )


def builds_of_run(
    connection: Connection, run: RunSummary, made: Sequence[Override]
) -> tuple[BuildSummary, ...]:
    """The builds of a run in their order, each with the override that waives its failure."""
    rows = connection.execute(_BUILDS, {"run_id": run.id}).mappings().all()
    waives = {build_id: sentence(each) for build_id, each in waivers_among(rows, made, run.revision).items()}
    return tuple(_build(row, waives.get(row["id"], "")) for row in rows)


def run_summary(row: RowMapping) -> RunSummary:
    """A run from a row that has its columns by name."""
    return RunSummary(**{name: row[name] for name in RunSummary.__dataclass_fields__})


def comparisons_of(connection: Connection, build_id: int, measured_at: datetime) -> Sequence[ComparisonView]:
    """The comparisons of a build in their order."""
    rows = connection.execute(_COMPARISONS, {"build_id": build_id, "measured_at": measured_at})
    return [ComparisonView(*row) for row in rows]


def samples_of(connection: Connection, build_id: int, measured_at: datetime, series_id: int) -> SamplesView:
    """Both sides' samples; a side that measured nothing is empty."""
    keys = {"build_id": build_id, "measured_at": measured_at, "series_id": series_id}
    rows = connection.execute(_SAMPLES, keys).mappings().all()
    if not rows:
        raise NotFound(f"the build holds no samples of series {series_id}")
    sides: dict[int, tuple[float | None, ...]] = {row["side"]: tuple(row["samples"]) for row in rows}
    first = rows[0]
    return SamplesView(
        series_id=series_id,
        suite=first["suite"],
        benchmark=first["benchmark"],
        metric=first["metric"],
        unit=first["unit"],
        better=first["better"],
        base=sides.get(0, ()),
        patch=sides.get(1, ()),
    )


def _build(row: RowMapping, waived_by: str = "") -> BuildSummary:
    made_here = {"causes", "floor", "waived_by"}
    fields: dict[str, Any] = {
        name: row[name] for name in BuildSummary.__dataclass_fields__ if name not in made_here
    }
    return BuildSummary(
        **fields,
        waived_by=waived_by,
        causes=tuple(str(cause) for cause in row["causes"]),
        floor=_floor(row["job"], row["configuration"]),
    )


def _floor(job: str, configuration: Mapping[str, Any] | None) -> float:
    if not configuration:
        return Policy().floor
    try:
        return parse_job(job, dict(configuration)).policy.floor
    except BadProjectFile:  # written for another version of the service: show it all the same
        return Policy().floor
