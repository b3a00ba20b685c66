"""The read ports on PostgreSQL."""

from __future__ import annotations

from service.adapters.postgres.reading.builds import PostgresBuilds
from service.adapters.postgres.reading.changes import PostgresChanges
from service.adapters.postgres.reading.machines import PostgresMachines
from service.adapters.postgres.reading.series import PostgresSeries
from service.ports.reading import Reading


class PostgresReading(PostgresChanges, PostgresBuilds, PostgresSeries, PostgresMachines, Reading):
    """All read ports on one database."""
