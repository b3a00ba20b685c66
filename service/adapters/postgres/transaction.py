"""The unit of work, put together from its parts."""

from __future__ import annotations

from service.adapters.postgres.builds import Builds
from service.adapters.postgres.changes import Changes
from service.adapters.postgres.decisions import Decisions
from service.adapters.postgres.evidence import Evidence
from service.adapters.postgres.hearing import PeopleSaid
from service.adapters.postgres.remarks import OnLines
from service.adapters.postgres.results import Results
from service.adapters.postgres.rounds import RoundsOfBuilds
from service.adapters.postgres.runs import Runs


class PostgresTransaction(
    Changes, PeopleSaid, Runs, RoundsOfBuilds, Builds, Results, Evidence, Decisions, OnLines
):
    """All that a step may do to the database, on one connection in one transaction."""
