"""Rename a task: stored hints and failures name it as the workers do."""

from __future__ import annotations

from alembic import op

revision = "20261122_0100"
down_revision = "20261121_0600"
branch_labels = None
depends_on = None

_RENAME_HINTS = """
UPDATE outbox SET payload = jsonb_set(payload, '{{task}}', '"{new}"')
WHERE kind = 'task' AND payload ->> 'task' = '{old}'
"""
_RENAME_FAILURES = "UPDATE setback SET task = '{new}' WHERE task = '{old}'"


def upgrade() -> None:
    _rename("obey", "run_comment_commands")


def downgrade() -> None:
    _rename("run_comment_commands", "obey")


def _rename(old: str, new: str) -> None:
    for statement in (_RENAME_HINTS, _RENAME_FAILURES):
        op.execute(statement.format(old=old, new=new))
