"""Store A/A evidence of series on machines, and the pool that a calibration is for."""

from __future__ import annotations

from alembic import op

revision = "20261121_0300"
down_revision = "20261121_0200"
branch_labels = None
depends_on = None

_EVIDENCE = """
CREATE TABLE evidence (
    series_id   bigint NOT NULL REFERENCES series,
    sequence_id bigint NOT NULL REFERENCES sequence,  -- builds that continue one another are one session
    machine     text NOT NULL,
    build_id    bigint NOT NULL REFERENCES build,
    logs        real[] NOT NULL,  -- of patch / base, a pair each
    verdict     text NOT NULL CHECK (verdict IN ('slower', 'faster', 'same', 'undecided')),
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (series_id, sequence_id)
)
"""


def upgrade() -> None:
    op.execute(_EVIDENCE)
    op.execute("CREATE INDEX evidence_of_machine ON evidence (machine, series_id, sequence_id)")
    op.execute("CREATE INDEX evidence_of_build ON evidence (build_id)")
    # A default that is a constant rewrites nothing; code that does not know the column fills it so.
    op.execute("ALTER TABLE run ADD COLUMN pool text NOT NULL DEFAULT ''")
    op.execute(
        "CREATE UNIQUE INDEX run_one_calibration ON run (pool)"
        " WHERE kind = 'calibration' AND state IN ('planning', 'running')"
    )
    op.execute(
        "CREATE INDEX run_of_calibration ON run (pool, instance, project, branch, created_at)"
        " WHERE kind = 'calibration'"
    )


def downgrade() -> None:
    op.execute("DROP INDEX run_one_calibration, run_of_calibration")
    op.execute("ALTER TABLE run DROP COLUMN pool")
    op.execute("DROP TABLE evidence")
