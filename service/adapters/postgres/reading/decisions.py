"""Decisions, each with the review server's problem with its message."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.adapters.postgres.rows import from_row
from service.ports.records import ReviewState, review_key
from service.ports.views import Decision

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
_NO_NOTE: Final[Mapping[str, str]] = MappingProxyType({"review_state": "", "review_note": ""})


def decisions_of(
    connection: Connection, *, patch_set_id: int | None = None, run_id: int | None = None
) -> tuple[Decision, ...]:
    """Return the decisions of a patch set or of a run, newest first."""
    query, of = (_OF_RUN, run_id) if patch_set_id is None else (_OF_PATCH_SET, patch_set_id)
    rows = connection.execute(query, {"of": of}).mappings().all()
    notes = _notes_on(connection, rows) if rows else {}
    return tuple(from_row(Decision, row, **notes.get(_key(row), _NO_NOTE)) for row in rows)


def _notes_on(connection: Connection, decisions: Sequence[RowMapping]) -> Mapping[str, Mapping[str, str]]:
    rows = connection.execute(_NOTES, {"keys": [_key(row) for row in decisions]})
    return {
        row.dedup_key: {"review_state": ReviewState(row.state), "review_note": row.last_error} for row in rows
    }


def _key(decision: RowMapping) -> str:
    return review_key(decision["run_id"], decision["number"])
