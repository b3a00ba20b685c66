"""The bugs of known failures in the table ``bug``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, text
from typing_extensions import override

from service.adapters.postgres.connection import ShortTransactions
from service.adapters.postgres.storable import CleanText
from service.ports.failures.bugs import Bug, BugNotes

if TYPE_CHECKING:
    from collections.abc import Sequence

_DUE: Final = text("""
SELECT k.bug FROM known_failure AS k LEFT JOIN bug AS b ON b.bug = k.bug
WHERE k.bug <> '' AND k.state IN ('confirmed', 'infrastructure')
AND (b.bug IS NULL OR b.asked_at < now() - interval '1 hour')
GROUP BY k.bug, b.asked_at ORDER BY b.asked_at NULLS FIRST, k.bug LIMIT :most
""")
_NOTE: Final = text("""
INSERT INTO bug (bug, title, state, is_closed, url, read_at)
VALUES (:bug, :title, :state, :is_closed, :url, now())
ON CONFLICT (bug) DO UPDATE SET title = excluded.title, state = excluded.state,
    is_closed = excluded.is_closed, url = excluded.url, read_at = now(), asked_at = now()
""").bindparams(*(bindparam(name, type_=CleanText) for name in ("bug", "title", "state", "url")))
_POSTPONE: Final = text(
    "INSERT INTO bug (bug) VALUES (:bug) ON CONFLICT (bug) DO UPDATE SET asked_at = now()"
).bindparams(bindparam("bug", type_=CleanText))
NOTED_BUG: Final = text(
    "SELECT title, state, is_closed, url FROM bug"
    " WHERE bug = :bug AND url <> '' AND read_at > now() - interval '7 days'"
).bindparams(bindparam("bug", type_=CleanText))


class PostgresBugNotes(ShortTransactions, BugNotes):
    """Answers of the bug tracker in the database."""

    @override
    def due_bugs(self, most: int) -> Sequence[str]:
        return [bug for (bug,) in self._all(_DUE, most=most)]

    @override
    def note_bug(self, bug: str, found: Bug | None) -> None:
        noted = found or Bug(title="", state="", is_closed=False, url="")
        self._do(
            _NOTE, bug=bug, title=noted.title, state=noted.state, is_closed=noted.is_closed, url=noted.url
        )

    @override
    def postpone_bug(self, bug: str) -> None:
        self._do(_POSTPONE, bug=bug)

    @override
    def noted_bug(self, bug: str) -> Bug | None:
        rows = self._all(NOTED_BUG, bug=bug)
        return next((Bug(title=r.title, state=r.state, is_closed=r.is_closed, url=r.url) for r in rows), None)
