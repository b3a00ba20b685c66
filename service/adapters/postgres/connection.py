"""Give adapters a connection: one in a unit of work, or one from the pool for each short transaction."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from service.adapters.postgres.faults import translated
from service.domain.values.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Engine, Executable, Row, RowMapping


class Connected:
    """A part of a unit of work.

    Args:
        connection: a connection in a transaction, which the store ends.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._execute = connection.execute

    def _one(self, statement: Executable, entity: str) -> RowMapping:
        """Return the only row of a query; raises NotFound."""
        row = self._execute(statement).mappings().one_or_none()
        if row is None:
            raise NotFound(f"there is no {entity}")
        return row


class ShortTransactions:
    """Short transactions. Each raises Transient if the database cannot be used now.

    Args:
        engine: where their connections come from.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        with translated(), self._engine.begin() as connection:
            yield connection

    def _do(self, statement: Executable, **values: object) -> None:
        with self._begin() as connection:
            connection.execute(statement, values)

    def _all(self, statement: Executable, **values: object) -> Sequence[Row[Any]]:
        with self._begin() as connection:
            return connection.execute(statement, values).all()


class Snapshots(ShortTransactions):
    """Read-only snapshots of the database; safe to use from several threads, as the engine's pool is."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(
            engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        )
