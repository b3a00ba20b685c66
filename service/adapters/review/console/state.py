"""Keep the console review server's changes, patch sets, votes and messages in a file."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import structlog
from pydantic import TypeAdapter, ValidationError

from service.adapters.review.gerrit.messages import GerritMessage
from service.domain.review.change import Change
from service.domain.values.errors import Permanent, Transient
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOG = structlog.get_logger(__name__)
_BUSY_SECONDS: Final = 30.0  # a transaction takes milliseconds; on a slow disk, several may wait
_VERSION: Final = 1  # of the table and of the fields in a document; a file without a version has 0
_SCHEMA: Final = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS stored_change (
    number INTEGER PRIMARY KEY,
    is_open INTEGER NOT NULL,
    updated REAL NOT NULL,
    document BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS listed_change ON stored_change (is_open, updated);
PRAGMA user_version = {_VERSION};
COMMIT;
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
    messages: list[GerritMessage] = field(default_factory=list)
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
    """A SQLite file that several processes can use at once; readers and writers do not wait for each other.

    All methods raise Transient if the file stays locked or the disk is full, and Permanent if it is damaged.

    Args:
        path: the file; created if it is missing, in an existing directory.

    Raises:
        Permanent: another version of Benchgate wrote the file; the message names the remedy.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with self.connected() as connection:
            _switch_to_wal(connection)
            if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,):
                connection.executescript(_SCHEMA)
            (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            raise Permanent(
                f"another version of Benchgate wrote {path}. Run that version, or delete the file: its "
                "changes, votes and messages are then lost until their events are replayed"
            )

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction; one process at a time can have one."""
        with self.connected() as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection

    def changes(self, since: float | None) -> Iterator[StoredChange]:
        """Read all changes that were updated since a time, also deleted ones; None: all open changes.

        A change that cannot be read is skipped and logged, as one that Gerrit sends.
        """
        states, start = ((1, 1), 0.0) if since is None else ((0, 1), since)
        listed = "SELECT number, document FROM stored_change WHERE is_open IN (?, ?) AND updated >= ?"
        with self.connected() as connection:
            rows = connection.execute(listed, (*states, start)).fetchall()
        for number, document in rows:
            try:
                yield _parsed(number, document)
            except Permanent as error:
                _LOG.warning("console.change_unreadable", change=number, reason=str(error))

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
    """Read a change, also a deleted one; None if it is unknown.

    Raises:
        Permanent: the stored document is not that of a change.
    """
    row = connection.execute("SELECT document FROM stored_change WHERE number = ?", (number,)).fetchone()
    return None if row is None else _parsed(number, row[0])


def save(connection: sqlite3.Connection, stored: StoredChange) -> None:
    """Write a change."""
    change = stored.change
    is_open = change.is_open and not stored.is_deleted
    row = (change.key.number, is_open, change.updated.timestamp(), _DOCUMENT.dump_json(stored))
    connection.execute("INSERT OR REPLACE INTO stored_change VALUES (?, ?, ?, ?)", row)


def _parsed(number: int, document: bytes) -> StoredChange:
    try:
        return _DOCUMENT.validate_json(document)
    except ValidationError as error:
        raise Permanent(f"the stored change {number} cannot be read: {plain(str(error), 300)}") from error


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch the file to WAL mode, and wait for another process that does so: SQLite itself would not."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
