"""Read runs and builds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.access.lookup_keys import ADDRESS, number_key, text_key
from service.adapters.postgres.access.sight import (
    IS_QUEUED,
    IS_UNFINISHED,
    OF_BUILD,
    OF_NAMED_BUILD,
    OF_QUEUED_BUILDS,
    OF_RUN,
    OF_UNFINISHED_BUILDS,
    QUEUE_ORDER,
    Sighted,
    measured_in_sight,
    visible_build,
    visible_run,
)
from service.adapters.postgres.failures.failures import PostgresFailures
from service.adapters.postgres.failures.look_alikes import look_alikes
from service.adapters.postgres.failures.parent_failures import failing_on_parent, on_parent
from service.adapters.postgres.rows import from_row
from service.adapters.postgres.runs.decisions import overrides_of
from service.adapters.postgres.runs.queue_waits import queues_of
from service.adapters.postgres.runs.shown_decisions import decisions_of, waivers_among
from service.adapters.postgres.runs.standings import STANDING, tally_of
from service.adapters.postgres.schema import TURN_ORDER
from service.adapters.postgres.storable import LARGEST_BIGINT
from service.adapters.postgres.verdict.shown_comparisons import comparisons_of, explanations_of, samples_of
from service.domain.building.logs.stored_log import LogPart, StoredLog
from service.domain.failures.known import only_ends
from service.domain.project.job_kinds import JobKind
from service.domain.project.policy import Policy
from service.domain.project.project_file import parse_job
from service.domain.runs.states import BuildState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadProjectFile, NotFound
from service.domain.values.identity import RunKind
from service.domain.wording.known_failures import may_be_known
from service.domain.wording.overrides import waiver_sentence
from service.domain.wording.standing import waiting, waived_as
from service.ports.failures.storing import known_by_build
from service.ports.reading import BuildReading
from service.ports.runs.shown import Build, BuildDetail, BuildOfRun, ExplainedBuild, Run, RunWithBuilds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping, TextClause

    from service.adapters.postgres.runs.queue_waits import Queues
    from service.domain.failures.evidence import ParentBuild
    from service.domain.failures.known import Ends
    from service.domain.project.job import Job
    from service.domain.runs.overrides import Override
    from service.ports.verdict import Comparison, Samples

_GROWING: Final = (BuildState.QUEUED, BuildState.RUNNING)
# Of the owner's builds that come before, only visible ones are counted: the others are not public.
_BUILD_COLUMNS: Final = f"""
    b.id, b.job, b.number, b.kind, b.pool, b.state, b.phase, b.result, b.outcome, b.causes, b.notes,
    b.is_voting, b.attempt, b.machine, b.created_at, b.started_at, b.finished_at, b.external_number, b.url,
    b.blamed, b.slowdowns, {STANDING},
    coalesce((SELECT seed FROM sequence WHERE sequence.id = b.sequence_id), '') AS seed,
    coalesce(b.spec -> 'permissions', '[]') AS permissions, coalesce(b.spec -> 'groups', '{{}}') AS groups,
    b.spec -> 'config' AS configuration, b.spec ->> 'kind' AS run_kind, b.is_exclusive,
    b.turn > now() AS is_passed,
    CASE WHEN b.state = 'queued' AND b.queued_for <> '' THEN (
        SELECT cast(count(*) AS integer) FROM build AS q
        WHERE q.state = 'queued' AND NOT q.cancel_requested
          AND q.pool = b.pool AND q.queued_for = b.queued_for
          AND ({TURN_ORDER.format("q")}) < ({TURN_ORDER.format("b")}) AND {visible_build("q.id")}
    ) ELSE 0 END AS behind
"""  # noqa: S608 - put together from constants
_RUNS: Final = f"""
    SELECT r.id, r.kind, r.state, r.instance, r.project, r.branch, r.revision, r.merged_as, r.parent,
           r.subject, r.author, r.reason, r.created_at, r.finished_at, r.label, r.patch_set_id,
           c.number AS change,
           {ADDRESS} AS change_address, p.number AS patch_set
    FROM run AS r
    LEFT JOIN patch_set AS p ON p.id = r.patch_set_id
    LEFT JOIN change AS c ON c.id = p.change_id
"""  # noqa: S608 - put together from constants
_RUN: Final = text(f"{_RUNS} WHERE r.id = :run_id AND {visible_run('r')}")
_RUNS_OF_BUILD: Final = text(f"""
{_RUNS} WHERE r.id IN (SELECT run_id FROM run_build WHERE build_id = :build_id) AND {visible_run("r")}
ORDER BY r.id DESC LIMIT 20
""")  # noqa: S608 - put together from constants
_RUNS_OF_PATCH_SET: Final = text(f"{_RUNS} WHERE r.patch_set_id = :patch_set_id ORDER BY r.id DESC")
_BUILDS_OF_RUN: Final = text(f"""
SELECT rb.is_reused, {_BUILD_COLUMNS}
FROM run_build AS rb JOIN build AS b ON b.id = rb.build_id
WHERE rb.run_id = :run_id ORDER BY rb.position, b.id
""")  # noqa: S608 - put together from constants
# A build of a machine has only our number. Of the builds of another CI, one with the number there comes
# before one with the number here. Both may have one job name: its kind changed, or projects share the name.
_NAMED: Final = f"""
WHERE b.job = :job AND (b.number = :number OR b.external_number = :number) AND {visible_build("b.id")}
ORDER BY b.kind <> 'external' DESC, b.external_number IS NOT DISTINCT FROM :number DESC, b.id DESC LIMIT 1
"""
_BUILD: Final = text(f"""
SELECT false AS is_reused, b.log_url, b.environment_id, coalesce(e.facts, '{{}}') AS environment,
       coalesce(e.fingerprint, '') AS fingerprint,
       coalesce(b.execution -> 'conditions', '{{}}') AS conditions,
       coalesce(b.execution -> 'seconds', '{{}}') AS seconds,
       coalesce(b.execution ->> 'tests', '') AS tests, b.spec -> 'workspace' AS workspace, {_BUILD_COLUMNS}
FROM build AS b LEFT JOIN environment AS e ON e.id = b.environment_id
{_NAMED}
""")  # noqa: S608 - put together from constants
# The page is chosen before places and results are read.
_UNFINISHED: Final = text(f"""
SELECT false AS is_reused, {_BUILD_COLUMNS}
FROM (
    SELECT * FROM build AS b WHERE {IS_UNFINISHED} AND {visible_build("b.id")}
    ORDER BY {QUEUE_ORDER} LIMIT :limit OFFSET :after
) AS b
ORDER BY {QUEUE_ORDER}
""")  # noqa: S608 - put together from constants
_QUEUED: Final = text(f"""
SELECT false AS is_reused, {_BUILD_COLUMNS}
FROM (SELECT DISTINCT pool FROM build AS b WHERE {IS_QUEUED}) AS waiting CROSS JOIN LATERAL (
    SELECT * FROM build AS b WHERE b.pool = waiting.pool AND {IS_QUEUED} AND {visible_build("b.id")}
    ORDER BY {TURN_ORDER.format("b")} LIMIT :limit
) AS b
ORDER BY {QUEUE_ORDER}
""")  # noqa: S608 - put together from constants

_LOG: Final = text(f"""
SELECT b.id, b.state, b.kind, e.token, e.start, e.line, e.data
FROM build AS b LEFT JOIN log_end AS e ON e.build_id = b.id
{_NAMED}
""")  # noqa: S608 - put together from constants
_CHUNKS: Final = text("""
SELECT start, line, size, artifact FROM log_chunk
WHERE build_id = :id AND token = :token ORDER BY number
""")
_ON_PARENT: Final = failing_on_parent(measured_in_sight("of_parent.id"))


class PostgresBuildReading(Sighted, BuildReading):
    """Runs and builds in the database."""

    @override
    def run(self, run_id: int) -> RunWithBuilds:
        keys = {"run_id": number_key(run_id, LARGEST_BIGINT)}
        sight = self._sight(OF_RUN, **keys)
        with self._begin() as connection:
            row = connection.execute(_RUN, {**keys, **sight}).mappings().first()
            if row is None:
                raise NotFound(f"there is no run {run_id}")
            patch_set_id = row["patch_set_id"]
            overrides = () if patch_set_id is None else overrides_of(connection, patch_set_id)
            run = from_row(Run, row)
            builds = builds_of_run(connection, run, overrides, sight)
            return RunWithBuilds(run, builds, decisions_of(connection, run_id=run_id))

    @override
    def build(self, job: str, number: int) -> BuildDetail:
        keys = {"job": text_key(job), "number": number_key(number)}
        sight = self._sight(OF_NAMED_BUILD, **keys)
        with self._begin() as connection:
            row = connection.execute(_BUILD, {**keys, **sight}).mappings().first()
            if row is None:
                raise NotFound(f"there is no build {job}/{number}")
            found = connection.execute(_RUNS_OF_BUILD, {"build_id": row["id"], **sight}).mappings()
            runs = tuple(from_row(Run, run) for run in found)
            build = _build(row, queues_of(connection, [row]))
            parents = _parents(connection, build, runs, sight)
            ends = _ends(connection, build)
            return from_row(BuildDetail, row, build=build, runs=runs, parents=parents, ends=ends)

    @override
    def unfinished_builds(self, limit: int, after: int = 0) -> Sequence[Build]:
        sight = self._sight(OF_UNFINISHED_BUILDS)
        with self._begin() as connection:
            return _builds(connection, _UNFINISHED, limit=limit, after=min(after, LARGEST_BIGINT), **sight)

    @override
    def queued_builds(self, limit: int) -> Sequence[Build]:
        sight = self._sight(OF_QUEUED_BUILDS)
        with self._begin() as connection:
            return _builds(connection, _QUEUED, limit=limit, **sight)

    @override
    def log(self, job: str, number: int) -> StoredLog:
        keys = {"job": text_key(job), "number": number_key(number)}
        sight = self._sight(OF_NAMED_BUILD, **keys)
        with self._begin() as connection:
            row = connection.execute(_LOG, {**keys, **sight}).mappings().first()
            if row is None:
                raise NotFound(f"there is no build {job}/{number}")
            is_growing = row["state"] in _GROWING and not JobKind(row["kind"]).is_external
            if row["token"] is None:
                return StoredLog("", (), is_growing)
            # After the end: what became a chunk in between is in both, never in neither.
            chunks = connection.execute(_CHUNKS, {"id": row["id"], "token": row["token"]}).mappings()
            parts = [LogPart(**chunk) for chunk in chunks]
            return StoredLog(str(row["token"]), (*parts, *_end_after(parts, row)), is_growing)

    @override
    def comparisons(self, build_id: int, measured_at: datetime) -> Sequence[Comparison]:
        sight = self._sight(OF_BUILD, build_id=build_id)
        with self._begin() as connection:
            return comparisons_of(connection, build_id, measured_at, sight)

    @override
    def samples(self, build_id: int, measured_at: datetime, series_id: int) -> Samples:
        wanted = number_key(series_id, LARGEST_BIGINT)
        sight = self._sight(OF_BUILD, build_id=build_id)
        with self._begin() as connection:
            return samples_of(connection, build_id, measured_at, wanted, sight)

    @override
    def explanations(self, build_id: int, stacks_of: int = 0) -> ExplainedBuild:
        sight = self._sight(OF_BUILD, build_id=build_id)
        with self._begin() as connection:
            return explanations_of(connection, build_id, stacks_of, sight)


def runs_of_patch_set(connection: Connection, patch_set_id: int) -> tuple[Run, ...]:
    """Return the runs of a patch set, newest first."""
    rows = connection.execute(_RUNS_OF_PATCH_SET, {"patch_set_id": patch_set_id}).mappings()
    return tuple(from_row(Run, row) for row in rows)


def builds_of_run(
    connection: Connection, run: Run, overrides: Sequence[Override], sight: Mapping[str, Any]
) -> tuple[BuildOfRun, ...]:
    """Return the builds of a run in their order, each with the waiver of its failure."""
    rows = connection.execute(_BUILDS_OF_RUN, {"run_id": run.id, **sight}).mappings().all()
    known = known_by_build(PostgresFailures(connection), run.id)
    waivers = waivers_among(rows, overrides, run.revision, known)
    counting = [row["id"] for row in rows if row["outcome"] == Outcome.FAILED and row["id"] not in waivers]
    alike = look_alikes(connection, run.id, counting) if counting else {}
    queues = queues_of(connection, rows)
    return tuple(
        from_row(
            BuildOfRun,
            row,
            tally=tally_of(row["tally"]),
            **_of_job(row, queues),
            notes=(*may_be_known(alike.get(row["id"], ())), *row["notes"]),
            waived_by=waiver_sentence(waivers[row["id"]]) if row["id"] in waivers else "",
            waiver=waived_as(waivers[row["id"]]) if row["id"] in waivers else "",
            wait=queues.waits.get(row["id"]),
        )
        for row in rows
    )


def _builds(connection: Connection, query: TextClause, **values: object) -> list[Build]:
    rows = connection.execute(query, values).mappings().all()
    queues = queues_of(connection, rows)
    return [_build(row, queues) for row in rows]


def _build(row: RowMapping, queues: Queues) -> Build:
    """Return a build without the waiver of its failure."""
    tally, wait = tally_of(row["tally"]), queues.waits.get(row["id"])
    return from_row(Build, row, tally=tally, **_of_job(row, queues), waiver="", wait=wait)


def policy_of(job: str, configuration: Mapping[str, Any] | None) -> Policy:
    """Return the policy of a job as its build stored it; the default if the build stored none."""
    stored = job_of(job, configuration)
    return stored.policy if stored else Policy()


def _of_job(row: RowMapping, queues: Queues) -> dict[str, Any]:
    """Return the fields of a build that its job, its results and its pool decide."""
    counted = {
        "undecided": row["tally"]["undecided"],
        "waits": "" if row["place"] is None else _waiting(row, queues),
    }
    stored = job_of(row["job"], row["configuration"])
    if stored is None:
        return {"floor": Policy().floor, "compares": JobKind(row["kind"]).may_compare, **counted}
    return {"floor": stored.policy.floor, "compares": stored.configuration.compares, **counted}


def _waiting(row: RowMapping, queues: Queues) -> str:
    machines = queues.machines.get((row["pool"], row["is_exclusive"]), ())
    is_passed = row["run_kind"] == RunKind.POST_SUBMIT and row["is_passed"]
    return waiting(row["pool"], row["place"], machines, row["behind"], is_passed=is_passed)


def job_of(name: str, configuration: Mapping[str, Any] | None) -> Job | None:
    """Return a job as its build stored it; None if it cannot be read."""
    try:
        return parse_job(name, dict(configuration)) if configuration else None
    except BadProjectFile:  # written for another version of the service: show it all the same
        return None


def _end_after(parts: Sequence[LogPart], row: RowMapping) -> Iterator[LogPart]:
    """Yield the end of a log that is in no part of it."""
    start = max(row["start"], parts[-1].end if parts else 0)
    shared, data = row["data"][: start - row["start"]], row["data"][start - row["start"] :]
    if data:
        yield LogPart(start, row["line"] + shared.count(b"\n"), len(data), data=data)


def _parents(
    connection: Connection, build: Build, runs: Sequence[Run], sight: Mapping[str, Any]
) -> tuple[ParentBuild, ...]:
    """Return the parent's builds with failures of a failed build, in its newest run."""
    if build.outcome is not Outcome.FAILED or not runs:
        return ()
    return on_parent(connection, _ON_PARENT, runs[0].id, [build.id], **sight).get(build.id, ())


def _ends(connection: Connection, build: Build) -> Ends | None:
    """Return the failures of a failed build if none of them can be made known."""
    if build.outcome is not Outcome.FAILED:
        return None
    found = PostgresFailures(connection).failures_of([build.id])
    return only_ends(found[build.id].failures) if build.id in found else None
