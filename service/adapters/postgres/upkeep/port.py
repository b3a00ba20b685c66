"""The upkeep in PostgreSQL."""

from __future__ import annotations

from sqlalchemy import text

from service.adapters.postgres.upkeep.calibrations import PostgresCalibrations
from service.adapters.postgres.upkeep.due_reviews import PostgresDueReviews
from service.adapters.postgres.upkeep.heartbeats import PostgresHeartbeats
from service.adapters.postgres.upkeep.hints import PostgresHints
from service.adapters.postgres.upkeep.lost_builds import PostgresLostBuilds
from service.adapters.postgres.upkeep.stalled_work import PostgresStalledWork
from service.adapters.postgres.upkeep.step_failures import PostgresStepFailures
from service.ports.upkeep import Upkeep


class PostgresUpkeep(
    PostgresHints,
    PostgresDueReviews,
    PostgresLostBuilds,
    PostgresStalledWork,
    PostgresCalibrations,
    PostgresStepFailures,
    PostgresHeartbeats,
    Upkeep,
):
    """All of the upkeep; each call is a transaction of its own.

    Args:
        engine: connections of a role that owns the tables.

    Raises:
        Transient: the database cannot be used now.
    """

    def ensure_partitions(self) -> None:
        """Create the partitions of the coming months."""
        with self._begin() as connection:
            connection.execute(text("SELECT ensure_partitions(current_date, 2)"))
