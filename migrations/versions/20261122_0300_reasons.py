"""Store typed reasons of comparisons, beside the text that an earlier version wrote.

That version goes on writing the text alone. Of its rows, only those that relinking left undecided affect a
decision: measuring such a benchmark longer changes nothing. Those that are stored already get the type here.
"""

from __future__ import annotations

from alembic import op

revision = "20261122_0300"
down_revision = "20261122_0200"
branch_labels = None
depends_on = None

_LAYOUT = """
UPDATE comparison
SET reasons = jsonb_build_array(
    jsonb_build_object('kind', 'layout as text', 'facts', jsonb_build_array(reason)))
WHERE verdict = 'undecided' AND reason LIKE 'layout: %'
"""


def upgrade() -> None:
    op.execute("ALTER TABLE comparison ADD COLUMN reasons jsonb")
    op.execute(_LAYOUT)


def downgrade() -> None:
    op.execute("ALTER TABLE comparison DROP COLUMN reasons")
