"""Failures of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, text
from typing_extensions import override

from service.adapters.postgres.short_transactions import Session
from service.adapters.postgres.storable import CleanText
from service.ports.records import StepFailure
from service.ports.upkeep import StepFailures

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
_CLEAR = text("DELETE FROM setback WHERE task = :task AND entity = :entity")


class PostgresStepFailures(Session, StepFailures):
    """Failures in the table ``setback``. The wait doubles with each, up to 300 s."""

    @override
    def record_step_failure(self, task: Task, entity: int, error: str, *, max_attempts: int) -> StepFailure:
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

    @override
    def clear_step_failure(self, task: Task, entity: int) -> None:
        with self._begin() as connection:
            connection.execute(_CLEAR, {"task": task, "entity": entity})
