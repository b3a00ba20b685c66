"""Create events, changes, runs, builds, leases, results, decisions and the outbox."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "20261121_0200"
down_revision = None
branch_labels = None
depends_on = None

_TABLES = (
    "event", "change", "patch_set", "run", "sequence", "environment", "machine", "job_number", "build",
    "run_build", "lease", "launch", "kept_binary", "series", "result", "comparison", "decision", "outbox",
    "setback", "pulse",
)  # fmt: skip


def upgrade() -> None:
    for name in ("tables", "machine_functions"):
        _run(Path(__file__).with_name(f"{revision}_{name}.sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    # The role stays: it belongs to the server, where another database may use it.
    _run("DROP SCHEMA machine CASCADE")
    _run(f"DROP TABLE {', '.join(_TABLES)}")
    _run("DROP SEQUENCE lease_token")
    _run("DROP FUNCTION ensure_partitions, notify_outbox")


def _run(script: str) -> None:
    # Past SQLAlchemy, which would take the colons and percent signs of a script for parameters.
    driver = op.get_bind().connection.driver_connection
    if driver is None:
        raise RuntimeError("there is no connection to migrate")
    with driver.cursor() as cursor:
        cursor.execute(script)
