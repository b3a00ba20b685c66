"""How decisions are read for people, with what became of them on the review server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.ports.records import review_key
from service.ports.views import DecisionView

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, RowMapping

_COLUMNS: Final = "SELECT run_id, number, vote, header, message, created_at FROM decision "
_OF_PATCH_SET: Final = text(f"{_COLUMNS} WHERE patch_set_id = :of ORDER BY number DESC LIMIT 100")
_OF_RUN: Final = text(f"{_COLUMNS} WHERE run_id = :of ORDER BY number DESC LIMIT 100")
_NOTES: Final = text("""
SELECT dedup_key, state, last_error FROM outbox
WHERE dedup_key = ANY(cast(:keys AS text[])) AND last_error IS NOT NULL
""")


def decisions_of(
    connection: Connection, *, patch_set_id: int | None = None, run_id: int | None = None
) -> tuple[DecisionView, ...]:
    """The decisions of a patch set or of a run, newest first."""
    query, of = (_OF_RUN, run_id) if patch_set_id is None else (_OF_PATCH_SET, patch_set_id)
    rows = connection.execute(query, {"of": of}).mappings().all()
    notes = _notes_on(connection, rows) if rows else {}
    return tuple(DecisionView(*row.values(), *notes.get(_key(row), ())) for row in rows)


def _notes_on(connection: Connection, decisions: Sequence[RowMapping]) -> Mapping[str, tuple[str, str]]:
    found = connection.execute(_NOTES, {"keys": [_key(row) for row in decisions]})
    return {row.dedup_key: (row.state, row.last_error) for row in found}


def _key(decision: RowMapping) -> str:
    return review_key(decision["run_id"], decision["number"])
