"""Take builds by their turns, and count a build's day from its claim.

Builds that wait get one turn, so they keep their order; merged commits, which came last, get a later one. The
version before queues builds whose turn is now.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from alembic import op

revision = "20261128_1620"
down_revision = "20261128_1610"
branch_labels = None
depends_on = None

_FUNCTIONS: Final = Path(__file__).with_suffix(".sql")


def upgrade() -> None:
    op.execute("ALTER TABLE change ADD COLUMN owner_account text NOT NULL DEFAULT ''")
    op.execute("""
    ALTER TABLE build
        ADD COLUMN queued_for text NOT NULL DEFAULT '',
        ADD COLUMN usual double precision,
        ADD COLUMN turn timestamptz NOT NULL DEFAULT now()
    """)
    # Behind every check, those of the version before would wait as long as new checks arrive.
    op.execute("""
    UPDATE build SET priority = 0, turn = now() + interval '30 minutes'
    WHERE state <> 'finished' AND priority = 1
    """)
    op.execute("CREATE INDEX build_turn ON build (pool, priority, turn, id) WHERE state = 'queued'")
    op.execute("""
    CREATE INDEX build_of_owner ON build (pool, queued_for) WHERE state <> 'finished' AND state <> 'executed'
    """)
    op.execute(_FUNCTIONS.read_text(encoding="utf-8"))
    op.execute("DROP INDEX build_queue")


def downgrade() -> None:
    functions = _FUNCTIONS.read_text(encoding="utf-8")
    functions = re.sub(r",\n +deadline_at = CASE .+ END(?=\n)", "", functions)
    op.execute(re.sub(r", [bef]\.turn\b", "", functions))
    op.execute("CREATE INDEX build_queue ON build (pool, priority, id) WHERE state = 'queued'")
    op.execute("DROP INDEX build_of_owner")
    op.execute("DROP INDEX build_turn")
    op.execute("ALTER TABLE build DROP COLUMN turn, DROP COLUMN usual, DROP COLUMN queued_for")
    op.execute("ALTER TABLE change DROP COLUMN owner_account")
