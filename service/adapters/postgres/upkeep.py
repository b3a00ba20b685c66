"""Upkeep in PostgreSQL."""

from __future__ import annotations

from sqlalchemy import text

from service.adapters.postgres.runs.outbox import PostgresOutbox
from service.adapters.postgres.runs.pools import PostgresPools
from service.adapters.postgres.runs.stalled_work import PostgresStalledWork
from service.ports.runs.upkeep import Upkeep


class PostgresUpkeep(PostgresOutbox, PostgresStalledWork, PostgresPools, Upkeep):
    """All of the upkeep; each call is a transaction of its own.

    Args:
        engine: connections of a role that owns the tables.

    Raises:
        Transient: the database cannot be used now.
    """

    def ensure_partitions(self) -> None:
        """Create the partitions of the coming months."""
        self._do(text("SELECT ensure_partitions(current_date, 2)"))
