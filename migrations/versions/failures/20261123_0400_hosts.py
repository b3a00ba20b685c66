"""Let several machines share a host, and give a build that compares two sides its host to itself.

Every build that the previous version plans for a machine compares two sides, and its workers name no host:
the defaults fit both.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from alembic import op

revision = "20261123_0400"
down_revision = "20261123_0200"
branch_labels = None
depends_on = None

_ADD_COLUMNS: Final = (
    "ALTER TABLE machine ADD COLUMN host text, ADD COLUMN builds_beside integer NOT NULL DEFAULT 1",
    "UPDATE machine SET host = name",
    "ALTER TABLE machine ALTER COLUMN host SET NOT NULL",
    "CREATE INDEX machine_of_host ON machine (host)",
    "ALTER TABLE build ADD COLUMN is_exclusive boolean NOT NULL DEFAULT true",
)
_DROP_COLUMNS: Final = (
    "ALTER TABLE build DROP COLUMN is_exclusive",
    "ALTER TABLE machine DROP COLUMN host, DROP COLUMN builds_beside",
)
_OF_MACHINES: Final = (
    "machine.introduce(text, text, text, text, integer, text, jsonb)",
    "machine.peek(text)",
    "machine.claim(text, double precision, boolean)",
)
_INTERNAL: Final = ("machine.held(text)", "machine.eligible(text)")


def upgrade() -> None:
    for statement in (*_ADD_COLUMNS, *_functions(Path(__file__).with_suffix(".sql"))):
        op.execute(statement)
    for function in (*_OF_MACHINES, *_INTERNAL):
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
    for function in _OF_MACHINES:
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO benchgate_machine")


def downgrade() -> None:
    first = Path(__file__).parents[1] / "20261121_0200_machine_functions.sql"
    for function in _functions(first):
        if re.search(r"FUNCTION machine\.(introduce|claim)\(", function):
            op.execute(function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1))
    for function in (*_OF_MACHINES, *reversed(_INTERNAL)):
        op.execute(f"DROP FUNCTION {function}")
    for statement in _DROP_COLUMNS:
        op.execute(statement)


def _functions(path: Path) -> list[str]:
    """Return the functions that a file creates, one statement each."""
    text = path.read_text(encoding="utf-8")
    return re.findall(r"^CREATE (?:OR REPLACE )?FUNCTION.*?\$\$;$", text, re.MULTILINE | re.DOTALL)
