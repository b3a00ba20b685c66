"""Store the control plane's data in PostgreSQL."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.access.audit import PostgresAudit, log_appended
from service.adapters.postgres.claims.claims import PostgresClaims
from service.adapters.postgres.engine import connect_apart
from service.adapters.postgres.failures.failures import PostgresFailures
from service.adapters.postgres.failures.known_failures import PostgresKnownFailures
from service.adapters.postgres.faults import translated
from service.adapters.postgres.machines.closures import PostgresClosures
from service.adapters.postgres.review.intake import PostgresChanges, PostgresComments, PostgresEvents
from service.adapters.postgres.review.visibility import PostgresVisibility
from service.adapters.postgres.runs.builds import PostgresBuilds
from service.adapters.postgres.runs.decisions import OutgoingWork, PostgresDecisions, PostgresOverrides
from service.adapters.postgres.runs.reports import PostgresExternalBuilds
from service.adapters.postgres.runs.runs import PostgresRunHistory, PostgresRuns
from service.adapters.postgres.trunk.backfills import PostgresBackfills
from service.adapters.postgres.trunk.branches import PostgresBranches
from service.adapters.postgres.trunk.regressions import PostgresRegressions
from service.adapters.postgres.verdict.measurements import (
    PostgresEvidence,
    PostgresExplanations,
    PostgresMeasurements,
)
from service.domain.values.errors import Transient
from service.ports.store import Store, Transaction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine

_TRY_LOCK = text("SELECT pg_try_advisory_lock(hashtextextended('benchgate ' || :name, 0))")
_UNLOCK = text("SELECT pg_advisory_unlock(hashtextextended('benchgate ' || :name, 0))")


def unit_of_work(connection: Connection, audit: PostgresAudit) -> Transaction:
    """Return a unit of work on one connection, which is in a transaction."""
    return Transaction(
        events=PostgresEvents(connection),
        changes=PostgresChanges(connection),
        visibility=PostgresVisibility(connection),
        comments=PostgresComments(connection),
        runs=PostgresRuns(connection),
        history=PostgresRunHistory(connection),
        builds=PostgresBuilds(connection),
        external=PostgresExternalBuilds(connection),
        measurements=PostgresMeasurements(connection),
        imported=PostgresMeasurements(connection),
        evidence=PostgresEvidence(connection),
        explanations=PostgresExplanations(connection),
        claims=PostgresClaims(connection),
        failures=PostgresFailures(connection),
        known=PostgresKnownFailures(connection, audit),
        branches=PostgresBranches(connection),
        backfills=PostgresBackfills(connection),
        regressions=PostgresRegressions(connection, audit),
        closures=PostgresClosures(connection),
        overrides=PostgresOverrides(connection, audit),
        decisions=PostgresDecisions(connection),
        outbox=OutgoingWork(connection),
        audit=audit,
    )


class PostgresStore(Store):
    """Units of work in PostgreSQL.

    Args:
        engine: connections of a role that owns the tables.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    @override
    def transaction(self) -> Iterator[Transaction]:
        """Open a unit of work: committed at the end, rolled back if the body raises.

        Raises:
            Transient: the connection is lost, a deadlock, or a transaction that takes too long. If it
                is raised at the very end, the work may have been stored nevertheless.
        """
        with translated(), self._engine.begin() as connection:
            audit = PostgresAudit(connection)
            yield unit_of_work(connection, audit)
            appended = audit.append_recorded()
        log_appended(appended)

    @contextmanager
    @override
    def exclusive(self, name: str, *, must_last: bool = False) -> Iterator[bool]:
        """Enter a section; the value is False if another process is in a section of that name. Never waits.

        The section ends with the session that entered it, also if this process dies in it.
        """
        with translated():
            connection = connect_apart(self._engine)
        with connection:
            with translated():
                is_ours = connection.execute(_TRY_LOCK, {"name": name}).scalar_one()
            lasted = False
            try:
                yield bool(is_ours)
            finally:
                # PostgreSQL holds the locks of a closed session for a moment; those of a lost one are free.
                if is_ours:
                    with suppress(Transient), translated():
                        lasted = connection.execute(_UNLOCK, {"name": name}).scalar_one()
            if must_last and is_ours and not lasted:
                raise Transient("the session that kept others away was lost; try again")
