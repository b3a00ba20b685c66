"""Keep the notices of regressions, so that each leaves once.

The version before sends none.
"""

from __future__ import annotations

from alembic import op

revision = "20261128_0600"
down_revision = "20261128_0500"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
    CREATE TABLE notice (
        id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        regression_id bigint NOT NULL REFERENCES regression,
        channel       text NOT NULL,
        address       text NOT NULL DEFAULT '',
        state         text NOT NULL DEFAULT 'waiting',
        attempts      integer NOT NULL DEFAULT 0,
        note          text NOT NULL DEFAULT '',
        next_at       timestamptz NOT NULL DEFAULT now(),
        changed_at    timestamptz NOT NULL DEFAULT now(),
        UNIQUE (regression_id, channel, address)
    )
    """)
    op.execute("CREATE INDEX notice_due ON notice (next_at) WHERE state IN ('waiting', 'sending')")


def downgrade() -> None:
    op.execute("DROP TABLE notice")
    op.execute("DELETE FROM setback WHERE task = 'notify'")
