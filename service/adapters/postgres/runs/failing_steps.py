"""Find steps that fail: rows in ``setback``, and reviews that the review server did not take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text

from service.adapters.postgres.access.sight import visible_change
from service.adapters.postgres.schema import UNFINISHED_RUN
from service.domain.runs.health import PERIODIC, TRIES, FailingStep, Step
from service.domain.wording.health import public_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

_MOST: Final = 500
# A step that is not due any more, because its event was handled or its run ended, fails no longer. The tasks
# of the schedule have no entity: they start again at their time, however often they failed.
_FAILING: Final = text(f"""
WITH failing AS (
    SELECT s.task, coalesce(e.instance, c.instance) AS instance, coalesce(e.change, c.number) AS change,
           s.attempts, s.last_error, CASE WHEN NOT own.is_periodic THEN s.next_at END AS next_at,
           s.is_dead AND NOT own.is_periodic AS is_dead, coalesce(e.type, '') AS event, s.entity
    FROM setback AS s
    CROSS JOIN LATERAL (SELECT s.task = ANY(cast(:periodic AS text[])) AS is_periodic) AS own
    LEFT JOIN event AS e ON s.task = 'handle_event' AND e.id = s.entity
    LEFT JOIN heard AS h ON s.task = 'run_comment_commands' AND h.id = s.entity
    LEFT JOIN build AS b ON s.task = 'analyse' AND b.id = s.entity
    LEFT JOIN run AS r ON r.id = CASE
        WHEN s.task IN ('plan', 'vote') THEN s.entity
        WHEN s.task = 'analyse' THEN (SELECT max(run_id) FROM run_build WHERE build_id = s.entity)
    END
    LEFT JOIN patch_set AS p ON p.id = coalesce(h.patch_set_id, r.patch_set_id)
    LEFT JOIN change AS c ON c.id = p.change_id
    WHERE (s.attempts >= :tries OR s.is_dead OR s.task = 'reconcile') AND (
        s.is_dead AND NOT own.is_periodic
        -- The schedule no longer starts a step for a review server that was removed.
        OR own.is_periodic AND s.next_at > now() - interval '1 day'
        OR NOT own.is_periodic AND CASE s.task
            WHEN 'handle_event' THEN e.handled_at IS NULL
            WHEN 'run_comment_commands' THEN h.state = 'pending'
            WHEN 'analyse' THEN b.state = 'executed'
            ELSE r.{UNFINISHED_RUN}
        END
    )
    UNION ALL
    SELECT 'deliver', payload ->> 'instance', (payload ->> 'number')::integer, attempts, last_error, next_at,
           false, '', 0
    FROM outbox WHERE kind = 'review' AND state = 'pending' AND attempts >= :tries AND last_error IS NOT NULL
)
SELECT failing.task,
       CASE WHEN shown.it THEN
           CASE WHEN (SELECT count(*) FROM server) > 1
               THEN failing.instance || '~' || failing.change ELSE cast(failing.change AS text) END
       END AS change,
       failing.attempts, failing.last_error, shown.it AS is_shown, failing.next_at, failing.is_dead,
       failing.event, failing.entity
FROM failing
LEFT JOIN change AS c ON c.instance = failing.instance AND c.number = failing.change
-- An error may name what the change, or the branch without one, hides.
CROSS JOIN LATERAL (
    SELECT failing.task = 'reconcile' OR coalesce({visible_change("c")}, cast(:sees_all AS boolean)) AS it
) AS shown
-- A build, run or comment whose step was given up has ended, and its page says why.
WHERE cast(:change_id AS bigint) IS NULL
   OR (c.id = :change_id AND (NOT failing.is_dead OR failing.task = 'handle_event'))
ORDER BY failing.attempts DESC, failing.change LIMIT :most
""")  # noqa: S608 - put together from constants


def failing_steps(
    connection: Connection, sight: Mapping[str, Any], change_id: int | None = None
) -> tuple[FailingStep, ...]:
    """Return the steps that failed several times, of one change or of all.

    For a hidden change, the step has no change, and of its error only what is public.
    """
    values = {"periodic": sorted(PERIODIC), "tries": TRIES, "most": _MOST, "change_id": change_id, **sight}
    return tuple(
        FailingStep(
            Step(row.task),
            row.change,
            row.attempts,
            row.last_error if row.is_shown else public_error(row.last_error),
            row.next_at,
            row.is_dead,
            row.event,
            row.entity,
        )
        for row in connection.execute(_FAILING, values)
    )
