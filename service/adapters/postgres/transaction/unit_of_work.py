"""The unit of work, put together from its parts."""

from __future__ import annotations

from service.adapters.postgres.transaction.builds import Builds
from service.adapters.postgres.transaction.changes import Changes
from service.adapters.postgres.transaction.comments import StoredComments
from service.adapters.postgres.transaction.decisions import Decisions
from service.adapters.postgres.transaction.evidence import Evidence
from service.adapters.postgres.transaction.line_comments import OnLines
from service.adapters.postgres.transaction.results import Results
from service.adapters.postgres.transaction.rounds import RoundsOfBuilds
from service.adapters.postgres.transaction.runs import Runs


class PostgresTransaction(
    Changes, StoredComments, Runs, RoundsOfBuilds, Builds, Results, Evidence, Decisions, OnLines
):
    """All that a step may do to the database, on one connection in one transaction."""
