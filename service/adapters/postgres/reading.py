"""Read ports on PostgreSQL."""

from __future__ import annotations

from service.adapters.postgres.machines.shown_machines import PostgresMachines
from service.adapters.postgres.review.shown_changes import PostgresChanges
from service.adapters.postgres.runs.shown_builds import PostgresBuilds
from service.adapters.postgres.verdict.shown_series import PostgresSeries
from service.ports.reading import Reading


class PostgresReading(PostgresChanges, PostgresBuilds, PostgresSeries, PostgresMachines, Reading):
    """All read ports on one database."""
