"""Check that the audit log exists, which an administrator creates.

Taking the schema down leaves the log: it belongs to another role, and a log does not vanish with its tables.
"""

from __future__ import annotations

from alembic import op

from service.adapters.postgres.access.protection import require_audit

revision = "20261122_2200"
down_revision = "20261122_0320"
branch_labels = None
depends_on = None


def upgrade() -> None:
    require_audit(op.get_bind())


def downgrade() -> None:
    pass
