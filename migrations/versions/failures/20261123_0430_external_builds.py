"""Store the last state of a build in another CI and the address of its log there, and index its number."""

from __future__ import annotations

from alembic import op

revision = "20261123_0430"
down_revision = "20261123_0420"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE build"
        " ADD COLUMN log_url text NOT NULL DEFAULT '',"
        " ADD COLUMN reported text NOT NULL DEFAULT ''"  # its state or result in the other CI; empty: unknown
    )
    op.execute(
        "UPDATE build SET reported = CASE WHEN state = 'finished' THEN result ELSE 'STARTED' END"
        # One that was cancelled here ended without its result.
        " WHERE external_number IS NOT NULL AND outcome IS DISTINCT FROM 'cancelled'"
    )
    op.execute(
        "CREATE INDEX build_external ON build (job, external_number) WHERE external_number IS NOT NULL"
    )


def downgrade() -> None:
    op.execute("DROP INDEX build_external")
    op.execute("ALTER TABLE build DROP COLUMN reported, DROP COLUMN log_url")
