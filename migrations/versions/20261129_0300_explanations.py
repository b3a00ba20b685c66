"""Let a machine explain slow-downs after its report: it keeps the lease, so that its host stays busy.

`pack` of `service.domain.verdict.explanation.explanation` writes what the table keeps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from alembic import op

revision = "20261129_0300"
down_revision = "20261129_0200"
branch_labels = None
depends_on = None

_FUNCTIONS: Final = Path(__file__).with_suffix(".sql")
_NEW: Final = "machine.report(bigint, bigint, jsonb, text)", "machine.explain(bigint, bigint, bytea)"


def upgrade() -> None:
    op.execute("""
    CREATE TABLE explanation (
        build_id   bigint PRIMARY KEY REFERENCES build ON DELETE CASCADE,
        packed     bytea NOT NULL CHECK (octet_length(packed) <= 1048576),
        created_at timestamptz NOT NULL DEFAULT now()
    )
    """)
    op.execute(_FUNCTIONS.read_text(encoding="utf-8"))
    op.execute("REVOKE ALL ON FUNCTION machine.hold_lease(bigint, bigint) FROM PUBLIC")
    for function in _NEW:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO benchgate_machine")


def downgrade() -> None:
    # The version before ends a lease with its report, so the functions that it calls may stay as they are.
    for function in _NEW:
        op.execute(f"DROP FUNCTION {function}")
    op.execute("DROP TABLE explanation")
