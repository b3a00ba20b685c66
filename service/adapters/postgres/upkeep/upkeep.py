"""What keeps the flow going when something was lost: the way in for the schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, text

from service.adapters.postgres.storable import CleanText
from service.adapters.postgres.upkeep.calibrations import Calibrations
from service.adapters.postgres.upkeep.outbox import Relay
from service.adapters.postgres.upkeep.stalled import Watch
from service.ports.records import StepFailure

if TYPE_CHECKING:
    from service.ports.queue import Task

LONGEST_WAIT_SECONDS: Final = 300

_RECORD = text("""
INSERT INTO setback AS s (task, entity, attempts, next_at, is_dead, last_error)
VALUES (:task, :entity, 1, now() + interval '2 s', :max_attempts <= 1, :error)
ON CONFLICT (task, entity) DO UPDATE SET
    attempts = s.attempts + 1,
    next_at = now() + make_interval(secs => least(power(2, least(s.attempts + 1, 30)), :longest)),
    is_dead = s.attempts + 1 >= :max_attempts,
    last_error = excluded.last_error
RETURNING attempts, is_dead
""").bindparams(bindparam("error", type_=CleanText))
_BEAT = text("""
INSERT INTO pulse (part, beat_at, note) VALUES (:part, now(), :note)
ON CONFLICT (part) DO UPDATE SET beat_at = excluded.beat_at, note = excluded.note
""").bindparams(bindparam("note", type_=CleanText))


class PostgresUpkeep(Relay, Watch, Calibrations):
    """Implements the port Upkeep; each call is a transaction of its own.

    Args:
        engine: connections of a role that owns the tables.

    Raises:
        Transient: the database cannot be used now.
    """

    def record_step_failure(self, task: Task, entity: int, error: str, *, max_attempts: int) -> StepFailure:
        """A step failed; how often, and whether it is given up.

        It waits twice as long each time, 300 s at most.
        """
        values = {
            "task": task,
            "entity": entity,
            "error": error,
            "max_attempts": max_attempts,
            "longest": LONGEST_WAIT_SECONDS,
        }
        with self._begin() as connection:
            row = connection.execute(_RECORD, values).one()
        return StepFailure(row.attempts, row.is_dead)

    def clear_step_failure(self, task: Task, entity: int) -> None:
        """A step succeeded."""
        with self._begin() as connection:
            connection.execute(
                text("DELETE FROM setback WHERE task = :task AND entity = :entity"),
                {"task": task, "entity": entity},
            )

    def ensure_partitions(self) -> None:
        """Make the partitions of the coming months."""
        with self._begin() as connection:
            connection.execute(text("SELECT ensure_partitions(current_date, 2)"))

    def beat(self, part: str, note: str = "") -> None:
        """Leave a sign of life of a part of the service."""
        with self._begin() as connection:
            connection.execute(_BEAT, {"part": part, "note": note})
