"""Let a build be for one machine, and each machine of a pool have a calibration of its own.

The version before plans calibrations for any machine of the pool, one at a time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from alembic import op

revision = "20261128_1720"
down_revision = "20261128_1710"
branch_labels = None
depends_on = None
harmless = ("run_one_calibration_of_machine",)  # the index that it replaces refused more

_ELIGIBLE: Final = Path(__file__).with_suffix(".sql")
_EARLIER: Final = Path(__file__).with_name("20261128_1620_turns.sql")
_CALIBRATION: Final = "WHERE kind = 'calibration' AND state IN ('planning', 'running')"


def upgrade() -> None:
    op.execute("ALTER TABLE run ADD COLUMN machine text NOT NULL DEFAULT ''")
    op.execute("ALTER TABLE build ADD COLUMN for_machine text NOT NULL DEFAULT ''")
    op.execute(f"CREATE UNIQUE INDEX run_one_calibration_of_machine ON run (pool, machine) {_CALIBRATION}")
    op.execute("DROP INDEX run_one_calibration")
    op.execute("CREATE INDEX run_of_machine ON run (pool, machine, created_at) WHERE kind = 'calibration'")
    op.execute(_ELIGIBLE.read_text(encoding="utf-8"))


def downgrade() -> None:
    op.execute(_EARLIER.read_text(encoding="utf-8"))
    # The index below allows one in a pool.
    op.execute(f"UPDATE run SET state = 'cancelled' {_CALIBRATION} AND machine <> ''")  # noqa: S608 - constants
    op.execute(f"CREATE UNIQUE INDEX run_one_calibration ON run (pool) {_CALIBRATION}")
    op.execute("DROP INDEX run_one_calibration_of_machine")
    op.execute("ALTER TABLE build DROP COLUMN for_machine")
    op.execute("ALTER TABLE run DROP COLUMN machine")
