"""Short transactions, each on a connection from the pool."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from service.adapters.postgres.faults import translated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine


class Session:
    """Short transactions.

    Args:
        engine: where their connections come from.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        """Open a transaction; Transient if the database cannot be used now."""
        with translated(), self._engine.begin() as connection:
            yield connection
