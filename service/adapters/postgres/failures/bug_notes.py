"""Store what the tracker says about bugs, and the counts posted there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, text
from typing_extensions import override

from service.adapters.postgres.connection import ShortTransactions
from service.adapters.postgres.rows import from_row
from service.adapters.postgres.storable import CleanText
from service.ports.failures.bugs import Bug, BugCount, BugNotes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection

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
# It is due an hour after this time.
_POSTPONE: Final = text("""
INSERT INTO bug (bug, asked_at) VALUES (:bug, now() - interval '1 hour' + make_interval(secs => :seconds))
ON CONFLICT (bug) DO UPDATE SET asked_at = excluded.asked_at
""").bindparams(bindparam("bug", type_=CleanText))
_IS_NOTED: Final = "url <> '' AND read_at > now() - interval '7 days'"
_NOTED: Final = text(f"""
SELECT bug, title, state, is_closed, url FROM bug WHERE bug = ANY(:bugs) AND {_IS_NOTED}
""")  # noqa: S608 - put together from constants
# Of a row k of known_failure, by the bug's newest state that still counts.
CLOSED_BUG: Final = f"EXISTS (SELECT FROM bug WHERE bug.bug = k.bug AND bug.is_closed AND {_IS_NOTED})"
# A bug may have several names here, and one address.
_COUNTED: Final = """
    SELECT b.url, count(DISTINCT m.build_id) AS builds, min(k.id) AS known_id
    FROM bug AS b JOIN known_failure AS k ON k.bug = b.bug JOIN known_match AS m ON m.known_id = k.id
    WHERE b.url <> '' AND b.read_at > now() - interval '1 day' GROUP BY b.url
"""
# The number of builds is stored before it is posted: each attempt posts the same one.
_CLAIM: Final = text(f"""
INSERT INTO bug_count (url, builds) SELECT url, builds FROM ({_COUNTED}) AS counted
ON CONFLICT (url) DO UPDATE SET builds = excluded.builds, posted_at = NULL
WHERE bug_count.posted_at < now() - interval '1 day' AND bug_count.builds <> excluded.builds
""")  # noqa: S608 - put together from constants
# In random order: a bug that makes the tracker fail does not stop the same others in every round.
_DUE_COUNTS: Final = text(f"""
SELECT c.url, c.builds, counted.known_id FROM bug_count AS c JOIN ({_COUNTED}) AS counted USING (url)
WHERE c.posted_at IS NULL ORDER BY random() LIMIT :most
""")  # noqa: S608 - put together from constants
_POSTED: Final = text(
    "UPDATE bug_count SET posted_at = now() WHERE url = :url AND builds = :builds AND posted_at IS NULL"
)


class PostgresBugNotes(ShortTransactions, BugNotes):
    """Answers of the bug tracker, and the counts posted there, in the database."""

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
    def postpone_bug(self, bug: str, seconds: float) -> None:
        self._do(_POSTPONE, bug=bug, seconds=seconds)

    @override
    def due_counts(self, most: int) -> Sequence[BugCount]:
        with self._begin() as connection:
            connection.execute(_CLAIM)
            rows = connection.execute(_DUE_COUNTS, {"most": most})
            return [BugCount(url=row.url, builds=row.builds, known_id=row.known_id) for row in rows]

    @override
    def note_posted(self, count: BugCount) -> None:
        self._do(_POSTED, url=count.url, builds=count.builds)


def noted_bugs(connection: Connection, bugs: Collection[str]) -> Mapping[str, Bug]:
    """Return the bugs that the tracker described within the last week, as it did so last."""
    rows = connection.execute(_NOTED, {"bugs": list(bugs)}).mappings()
    return {row["bug"]: from_row(Bug, row) for row in rows}
