"""Let no pool of a host wait for ever while another one has builds.

The worker that ends a build has the hint of the next one already, so that it always came first.
"""

from __future__ import annotations

import re
from pathlib import Path

from alembic import op

revision = "20261123_0450"
down_revision = "20261123_0440"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    before = Path(__file__).with_name("20261123_0400_hosts.sql").read_text(encoding="utf-8")
    for function in re.findall(
        r"^CREATE FUNCTION machine\.eligible.*?\$\$;$", before, re.MULTILINE | re.DOTALL
    ):
        op.execute(function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1))
