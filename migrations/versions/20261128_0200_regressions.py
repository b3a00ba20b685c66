"""Keep regressions: merged commits with slower results, what the gate had said, and people's judgements."""

from __future__ import annotations

from alembic import op

revision = "20261128_0200"
down_revision = "20261128_0100"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
    CREATE TABLE regression (
        id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        run_id     bigint NOT NULL UNIQUE REFERENCES run,
        state      text NOT NULL,
        weight     text NOT NULL,
        assignee   text NOT NULL DEFAULT '',
        bug        text NOT NULL DEFAULT '',
        note       text NOT NULL DEFAULT '',
        changed_by text NOT NULL DEFAULT '',
        changed_at timestamptz
    )
    """)
    op.execute("""
    CREATE TABLE regressed_result (
        regression_id bigint NOT NULL REFERENCES regression,
        series_id     bigint NOT NULL REFERENCES series,
        build_id      bigint NOT NULL REFERENCES build,
        weight        text NOT NULL,
        gate_said     text NOT NULL,
        ratio         double precision,
        low           double precision,
        high          double precision,
        PRIMARY KEY (regression_id, series_id)
    )
    """)
    op.execute("CREATE INDEX regression_of_list ON regression (state, weight, id)")


def downgrade() -> None:
    op.execute("DROP TABLE regressed_result")
    op.execute("DROP TABLE regression")
