"""Give builds their turns in the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, text

from service.adapters.postgres import schema as t
from service.domain.runs.turn import UNKNOWN_SECONDS, turn_ahead
from service.domain.values.identity import RunKind

if TYPE_CHECKING:
    from sqlalchemy import Connection

_NEWEST: Final = 50  # builds of a job that are looked at: the specification of each is read


def usual_seconds(job: str, pool: str, kind: str) -> str:
    """Return the query of a job's usual ``seconds``, for SQL expressions of its name, pool and kind of run.

    They are the median of its last builds; fewer than three say nothing.
    """
    return f"""
    SELECT CASE WHEN count(*) >= 3 THEN percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) END AS seconds
    FROM (
        SELECT cast(extract(epoch FROM d.finished_at - d.started_at) AS float) AS seconds
        FROM (SELECT * FROM build WHERE job = {job} ORDER BY number DESC LIMIT {_NEWEST}) AS d
        WHERE d.spec ->> 'kind' = {kind} AND d.pool = {pool}
          AND d.state = 'finished' AND d.result <> 'ABORTED' AND d.started_at IS NOT NULL
        ORDER BY d.number DESC LIMIT 5
    ) AS durations
    """  # noqa: S608 - put together from constants


# An owner is the one of the run's change, else the branch; what is merged counts apart. An account identifies
# a person: names can change, and two people may share one. Builds of the version before have no owner. One
# that only ended runs have is as good as cancelled; one without a run is being added.
_WORK: Final = text(f"""
SELECT whose.owner, usual.seconds, (
    SELECT coalesce(sum(coalesce(own.usual, {UNKNOWN_SECONDS})), 0) FROM build AS own
    WHERE own.state <> 'finished' AND own.state <> 'executed' AND NOT own.cancel_requested
      AND own.pool = :pool AND own.queued_for = whose.owner AND own.queued_for <> ''
      AND (EXISTS (
          SELECT FROM run_build JOIN run ON run.id = run_build.run_id
          WHERE run_build.build_id = own.id AND run.{t.UNFINISHED_RUN}
      ) OR NOT EXISTS (SELECT FROM run_build WHERE run_build.build_id = own.id))
) AS work
FROM (
    SELECT coalesce((
        SELECT concat_ws('~', run.instance, coalesce(
            nullif(change.owner_account, ''), nullif(change.owner, ''),
            concat_ws('~', run.project, run.branch)
        ), CASE run.kind WHEN '{RunKind.POST_SUBMIT}' THEN 'merged' END)
        FROM run LEFT JOIN patch_set ON patch_set.id = run.patch_set_id
        LEFT JOIN change ON change.id = patch_set.change_id
        WHERE run.id = :run
    ), '') AS owner
) AS whose CROSS JOIN LATERAL ({usual_seconds(":job", ":pool", ":kind")}) AS usual
""")  # noqa: S608 - put together from constants


def turn_of(
    connection: Connection,
    run_id: int | None,
    job: str,
    pool: str,
    kind: str | None,
    *,
    is_asked: bool = False,
) -> dict[str, Any]:
    """Return the columns ``queued_for``, ``usual`` and ``turn`` of a build that a run queues now.

    ``kind`` is that of the run; ``is_asked``: a person asked for the build again.
    """
    keys = {"run": run_id, "job": job, "pool": pool, "kind": kind}
    found = connection.execute(_WORK, keys).one()
    is_merged = kind == RunKind.POST_SUBMIT
    ahead = turn_ahead(found.work, found.seconds, is_asked=is_asked, is_merged=is_merged)
    turn = func.now() + func.make_interval(0, 0, 0, 0, 0, 0, ahead)
    return {"queued_for": found.owner, "usual": found.seconds, "turn": turn}
