"""Keep values of commits that another program measured, before Benchgate came."""

from __future__ import annotations

from alembic import op

revision = "20261128_1400"
down_revision = "20261128_1330"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
    CREATE TABLE imported_value (
        series_id bigint NOT NULL REFERENCES series,
        commit    text NOT NULL,
        moment    timestamptz NOT NULL,
        position  integer NOT NULL,
        value     double precision NOT NULL,
        PRIMARY KEY (series_id, commit)
    )
    """)


def downgrade() -> None:
    op.execute("DROP TABLE imported_value")
