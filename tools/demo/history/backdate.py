"""Backdate data that was just loaded: the service stores everything with the present time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from sqlalchemy import Engine

_PARTITIONS: Final = text("SELECT ensure_partitions(cast(:moment AS date), 0)")
# Only times change. A build that did not run has neither a start nor an execution.
_CHANGE: Final = text("""
WITH of_change AS (
    SELECT p.id FROM patch_set AS p JOIN change AS c ON c.id = p.change_id WHERE c.number = :change
), of_run AS (
    SELECT r.id FROM run AS r JOIN of_change AS p ON p.id = r.patch_set_id
), of_build AS (
    SELECT b.id, b.sequence_id FROM build AS b
    JOIN run_build AS rb ON rb.build_id = b.id JOIN of_run AS r ON r.id = rb.run_id
), events AS (
    UPDATE event SET received_at = :moment, handled_at = :moment WHERE change = :change
), patch_sets AS (
    UPDATE patch_set SET created_at = :moment FROM of_change WHERE patch_set.id = of_change.id
), runs AS (
    UPDATE run SET created_at = :moment, finished_at = :ended FROM of_run WHERE run.id = of_run.id
), decisions AS (
    UPDATE decision SET created_at = :ended FROM of_run WHERE run_id = of_run.id
), results AS (
    UPDATE result SET measured_at = :moment FROM of_build WHERE build_id = of_build.id
), comparisons AS (
    UPDATE comparison SET measured_at = :moment FROM of_build WHERE build_id = of_build.id
), sessions AS (
    UPDATE evidence SET created_at = :ended FROM of_build WHERE build_id = of_build.id
), regressions AS (
    UPDATE regression SET found_at = :ended FROM of_run WHERE run_id = of_run.id
), launches AS (
    UPDATE launch SET created_at = :ended FROM of_build WHERE build_id = of_build.id
), sequences AS (
    UPDATE sequence SET created_at = :moment FROM of_build WHERE sequence.id = of_build.sequence_id
), reviews AS (
    UPDATE outbox SET created_at = :moment, next_at = :moment, sent_at = :ended
    WHERE kind = 'review' AND payload -> 'number' = to_jsonb(cast(:change AS bigint))
)
UPDATE build SET created_at = :moment, not_before = :moment,
    started_at = CASE WHEN started_at IS NOT NULL THEN cast(:moment AS timestamptz) END,
    executed_at = CASE WHEN executed_at IS NOT NULL THEN cast(:ended AS timestamptz) END,
    finished_at = CASE WHEN executed_at IS NULL THEN cast(:moment AS timestamptz)
        ELSE cast(:ended AS timestamptz) END
FROM of_build WHERE build.id = of_build.id
""")
_MACHINE: Final = text(
    "UPDATE machine SET since = :first, first_seen_at = :first, last_seen_at = :last WHERE name = :machine"
)


def backdate_change(engine: Engine, change: int, moment: datetime, lasted: timedelta) -> None:
    """Give all that belongs to a change the time ``moment``; its build ends when ``lasted`` has passed."""
    with engine.begin() as connection:
        connection.execute(_PARTITIONS, {"moment": moment})
        connection.execute(_CHANGE, {"change": change, "moment": moment, "ended": moment + lasted})


def backdate_machine(engine: Engine, machine: str, first: datetime, last: datetime) -> None:
    """Give a machine the times at which it was set up and first seen, and at which it was last seen."""
    with engine.begin() as connection:
        connection.execute(_MACHINE, {"machine": machine, "first": first, "last": last})
