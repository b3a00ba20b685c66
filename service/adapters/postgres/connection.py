"""The connection that the parts of a unit of work share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from service.domain.errors import NotFound

if TYPE_CHECKING:
    from sqlalchemy import Connection, Executable, Row


class Connected:
    """A part of a unit of work.

    Args:
        connection: a connection in a transaction, which the store ends.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _one(self, statement: Executable, entity: str) -> Row[Any]:
        """The only row of a query; NotFound if there is none."""
        row = self._connection.execute(statement).one_or_none()
        if row is None:
            raise NotFound(f"there is no {entity}")
        return row
