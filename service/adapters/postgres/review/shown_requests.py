"""The requests that people made on the pages of a patch set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.adapters.postgres.rows import from_row
from service.ports.page_requests import ShownRequest

if TYPE_CHECKING:
    from sqlalchemy import Connection

_QUERY: Final = text("""
SELECT id, person, text, created_at, state = 'pending' AS is_pending, answer FROM heard
WHERE patch_set_id = :patch_set_id AND source = 'page' ORDER BY id DESC LIMIT 50
""")


def page_requests(connection: Connection, patch_set_id: int) -> tuple[ShownRequest, ...]:
    """Return the newest requests of a patch set, newest first."""
    rows = connection.execute(_QUERY, {"patch_set_id": patch_set_id}).mappings()
    return tuple(from_row(ShownRequest, row) for row in rows)
