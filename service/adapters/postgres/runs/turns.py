"""Give builds their turns in the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import func, select, text

from service.adapters.postgres import schema as t
from service.domain.runs.turn import UNKNOWN_SECONDS, turn_ahead
from service.domain.values.identity import RunKind

if TYPE_CHECKING:
    from sqlalchemy import Connection, ScalarSelect

_NEWEST: Final = 50  # builds of a job that are looked at: the specification of each is read
# The median of the job's last builds of this kind of run; fewer than three say nothing. A build of ended runs
# only is as good as cancelled; one that is in no run yet is being added.
_WORK: Final = text(f"""
SELECT b.spec ->> 'kind' AS kind, usual.seconds, (
    SELECT coalesce(sum(coalesce(own.usual, {UNKNOWN_SECONDS})), 0)
    FROM build AS own
    WHERE own.state <> 'finished' AND own.state <> 'executed' AND NOT own.cancel_requested AND own.id <> b.id
      AND own.pool = b.pool AND own.owner = b.owner
      AND own.spec ->> 'kind' IS NOT DISTINCT FROM b.spec ->> 'kind'
      AND coalesce((
          SELECT bool_or(run.{t.UNFINISHED_RUN}) FROM run_build JOIN run ON run.id = run_build.run_id
          WHERE run_build.build_id = own.id
      ), true)
) AS work
FROM build AS b CROSS JOIN LATERAL (
    SELECT CASE WHEN count(*) >= 3 THEN percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) END AS seconds
    FROM (
        SELECT cast(extract(epoch FROM d.finished_at - d.started_at) AS float) AS seconds
        FROM (SELECT * FROM build WHERE job = b.job ORDER BY number DESC LIMIT {_NEWEST}) AS d
        WHERE d.spec ->> 'kind' = b.spec ->> 'kind' AND d.pool = b.pool
          AND d.state = 'finished' AND d.result <> 'ABORTED' AND d.started_at IS NOT NULL
        ORDER BY d.number DESC LIMIT 5
    ) AS durations
) AS usual
WHERE b.id = :build
""")  # noqa: S608 - put together from constants
_TAKE: Final = text("""
UPDATE build SET usual = :usual, turn = now() + make_interval(secs => :ahead) WHERE id = :build
""")


def owner_of(run_id: int) -> ScalarSelect[str]:
    """Return whose builds those of a run are: the owner's of its change, else the branch's.

    An account identifies a person: names can change, and two people may share one.
    """
    person = func.coalesce(func.nullif(t.change.c.owner_account, ""), func.nullif(t.change.c.owner, ""))
    branch = func.concat_ws("~", t.run.c.project, t.run.c.branch)
    changes = t.run.outerjoin(t.patch_set, t.patch_set.c.id == t.run.c.patch_set_id).outerjoin(t.change)
    owner = func.concat_ws("~", t.run.c.instance, func.coalesce(person, branch))
    return select(owner).select_from(changes).where(t.run.c.id == run_id).scalar_subquery()


def take_turn(connection: Connection, build_id: int, *, is_asked: bool = False) -> None:
    """Store a queued build's turn and usual duration; ``is_asked``: a person asked for it again."""
    found = connection.execute(_WORK, {"build": build_id}).one()
    is_merged = found.kind == RunKind.POST_SUBMIT
    ahead = turn_ahead(found.work, found.seconds, is_asked=is_asked, is_merged=is_merged)
    connection.execute(_TAKE, {"build": build_id, "usual": found.seconds, "ahead": ahead})
