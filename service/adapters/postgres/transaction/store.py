"""The control plane's way to the database."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import text

from service.adapters.postgres.engine import connect_apart
from service.adapters.postgres.faults import translated
from service.adapters.postgres.transaction.unit_of_work import PostgresTransaction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

_TRY_LOCK = text("SELECT pg_try_advisory_lock(hashtextextended('benchgate ' || :name, 0))")


class PostgresStore:
    """Implements the port Store.

    Args:
        engine: connections of a role that owns the tables.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    def transaction(self) -> Iterator[PostgresTransaction]:
        """A unit of work: committed at the end, rolled back when the body raises.

        Raises:
            Transient: the connection is lost, two transactions stand in each other's way, or one takes
                too long. When it comes at the very end, the work may have been stored nevertheless.
        """
        with translated(), self._engine.begin() as connection:
            yield PostgresTransaction(connection)

    @contextmanager
    def exclusive(self, name: str) -> Iterator[bool]:
        """True while no other process is in a section of that name; never waits.

        The section ends with the session that entered it, also when this process dies in it.
        """
        with translated():
            connection = connect_apart(self._engine)
        with connection:
            with translated():
                is_taken = connection.execute(_TRY_LOCK, {"name": name}).scalar_one()
            yield bool(is_taken)
