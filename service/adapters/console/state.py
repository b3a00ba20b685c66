"""The file with the changes, patch sets, votes and messages of the console review server."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

from service.domain.errors import Permanent, Transient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BUSY_SECONDS: Final = 30.0  # a transaction takes milliseconds; on a slow disk, several may wait
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS change (
    number INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    branch TEXT NOT NULL,
    change_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    message TEXT NOT NULL,
    owner TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'NEW',
    is_wip INTEGER NOT NULL DEFAULT 0,
    is_private INTEGER NOT NULL DEFAULT 0,
    is_deleted INTEGER NOT NULL DEFAULT 0,
    merged_as TEXT,
    told_at REAL NOT NULL,    -- the time in the newest event about it
    updated REAL NOT NULL     -- the time of the last update here
) STRICT;
CREATE TABLE IF NOT EXISTS patch_set (
    change INTEGER NOT NULL REFERENCES change,
    number INTEGER NOT NULL,
    revision TEXT NOT NULL,
    ref TEXT NOT NULL,
    parents TEXT NOT NULL,
    kind TEXT NOT NULL,
    author TEXT NOT NULL,
    PRIMARY KEY (change, number)
) STRICT;
CREATE TABLE IF NOT EXISTS vote (
    change INTEGER NOT NULL REFERENCES change,
    patch_set INTEGER NOT NULL,
    label TEXT NOT NULL,
    user TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (change, patch_set, label, user)
) STRICT;
CREATE TABLE IF NOT EXISTS message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    change INTEGER NOT NULL REFERENCES change,
    patch_set INTEGER NOT NULL,
    author TEXT NOT NULL,
    text TEXT NOT NULL,
    written REAL NOT NULL,
    event TEXT UNIQUE         -- the digest of its event; NULL: posted here
) STRICT;
CREATE INDEX IF NOT EXISTS message_of_change ON message (change, id);
CREATE INDEX IF NOT EXISTS change_updated ON change (updated);
"""


class ConsoleState:
    """A SQLite file that several processes can use at once.

    Args:
        path: the file; created if it is missing, in an existing directory.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with _translated(path), closing(self._connect()) as connection:
            _switch_to_wal(connection)
            connection.executescript(f"BEGIN IMMEDIATE;{_SCHEMA}COMMIT;")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction; one process at a time can have one.

        Raises:
            Transient: the file stayed locked, or the disk is full.
            Permanent: the file is damaged.
        """
        with _translated(self._path), closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:  # if the disk is full, SQLite has already rolled back
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Open a consistent read, for which writers do not wait. Raises like ``transaction``."""
        with _translated(self._path), closing(self._connect()) as connection:
            connection.execute("BEGIN")
            yield connection

    def _connect(self) -> sqlite3.Connection:
        # A connection per use, because a fork must not share one.
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        return connection


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch the file to WAL mode, and wait for another process that does so: SQLite itself would not."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise Transient(f"{path.name}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise Permanent(f"{path.name}: {error}") from error
