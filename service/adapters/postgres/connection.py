"""The connection that the parts of a unit of work share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.errors import NotFound

if TYPE_CHECKING:
    from sqlalchemy import Connection, Executable, RowMapping


class Connected:
    """A part of a unit of work.

    Args:
        connection: a connection in a transaction, which the store ends.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._execute = connection.execute

    def _one(self, statement: Executable, entity: str) -> RowMapping:
        """Return the only row of a query; NotFound if there is none."""
        row = self._execute(statement).mappings().one_or_none()
        if row is None:
            raise NotFound(f"there is no {entity}")
        return row
