"""The file with the changes of the console review server, with their patch sets, votes and messages."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from service.domain.errors import Permanent, Transient
from service.domain.gerrit.change import Change, PostedMessage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_BUSY_SECONDS: Final = 30.0  # a transaction takes milliseconds; on a slow disk, several may wait
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS stored_change (
    number INTEGER PRIMARY KEY,
    updated REAL NOT NULL,
    document BLOB NOT NULL
) STRICT
"""


@dataclass(slots=True)
class StoredChange:
    """A change with the revisions and votes of all its patch sets, and its messages.

    ``event_at`` is the time in the newest event about it. Of a deleted change, nothing but the number counts.
    """

    change: Change
    event_at: float = 0.0
    revisions: dict[int, str] = field(default_factory=dict)
    votes: dict[int, dict[str, dict[str, int]]] = field(default_factory=dict)
    messages: list[PostedMessage] = field(default_factory=list)
    is_deleted: bool = False

    @property
    def current(self) -> Change:
        """The change with the votes on its current patch set."""
        votes = self.votes.get(self.change.current.number, {})
        return replace(self.change, votes={label: by_user for label, by_user in votes.items() if by_user})

    def set_vote(self, patch_set: int, label: str, user: str, value: int) -> int:
        """Set a user's vote (0: none) on a patch set, and return the previous vote."""
        votes = self.votes.setdefault(patch_set, {}).setdefault(label, {})
        before = votes.pop(user, 0)
        if value:
            votes[user] = value
        return before


_DOCUMENT: Final = TypeAdapter(StoredChange)


class ConsoleState:
    """A SQLite file that several processes can use at once.

    All methods raise Transient if the file stays locked or the disk is full, and Permanent if it is damaged.

    Args:
        path: the file; created if it is missing, in an existing directory.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with self.transaction() as connection:
            connection.execute(_SCHEMA)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction; one process at a time can have one."""
        with self.connected() as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection

    def changes(self, since: float) -> Sequence[StoredChange]:
        """Read all changes that were updated since a time, also deleted ones."""
        with self.connected() as connection:
            rows = connection.execute("SELECT document FROM stored_change WHERE updated >= ?", (since,))
            return [_DOCUMENT.validate_json(document) for (document,) in rows]

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """Open a connection without a transaction."""
        try:
            # A connection per use, because a fork must not share one.
            with closing(sqlite3.connect(self._path, _BUSY_SECONDS, isolation_level=None)) as connection:
                yield connection
        except sqlite3.OperationalError as error:
            raise Transient(f"{self._path.name}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise Permanent(f"{self._path.name}: {error}") from error


def load(connection: sqlite3.Connection, number: int) -> StoredChange | None:
    """Read a change, also a deleted one; None if it is unknown."""
    row = connection.execute("SELECT document FROM stored_change WHERE number = ?", (number,)).fetchone()
    return None if row is None else _DOCUMENT.validate_json(row[0])


def save(connection: sqlite3.Connection, stored: StoredChange) -> None:
    """Write a change."""
    row = (stored.change.key.number, stored.change.updated.timestamp(), _DOCUMENT.dump_json(stored))
    connection.execute("INSERT OR REPLACE INTO stored_change VALUES (?, ?, ?)", row)
