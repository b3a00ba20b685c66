"""Read ports on PostgreSQL."""

from __future__ import annotations

from service.adapters.postgres.claims.shown_claims import PostgresClaimReading
from service.adapters.postgres.machines.shown_machines import PostgresMachineReading
from service.adapters.postgres.review.shown_changes import PostgresChangeReading
from service.adapters.postgres.runs.shown_benchmarks import PostgresBenchmarkReading
from service.adapters.postgres.runs.shown_builds import PostgresBuildReading
from service.adapters.postgres.verdict.shown_families import PostgresFamilyReading
from service.ports.reading import Reading


class PostgresReading(
    PostgresChangeReading,
    PostgresBuildReading,
    PostgresFamilyReading,
    PostgresBenchmarkReading,
    PostgresMachineReading,
    PostgresClaimReading,
    Reading,
):
    """All read ports on one database."""
