"""The control plane's store: units of work, each made of parts by subject."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from service.ports.access import Audit
from service.ports.backfill import Backfills
from service.ports.branches import Branches
from service.ports.claims import Claims
from service.ports.failures.storing import Failures, KnownFailures
from service.ports.machines import Closures
from service.ports.review.changes import Changes, Events, ReviewComments, Visibility
from service.ports.runs.builds import Builds, ExternalBuilds
from service.ports.runs.decisions import Decisions, Outbox, Overrides
from service.ports.runs.history import RunHistory
from service.ports.runs.runs import Runs
from service.ports.trunk import Regressions
from service.ports.verdict import Evidence, Explanations, ImportedValues, Measurements


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """One unit of work: all of it is stored, or nothing. A step takes the parts that it uses."""

    events: Events
    changes: Changes
    visibility: Visibility
    comments: ReviewComments
    runs: Runs
    history: RunHistory
    builds: Builds
    external: ExternalBuilds
    measurements: Measurements
    evidence: Evidence
    explanations: Explanations
    claims: Claims
    imported: ImportedValues
    failures: Failures
    known: KnownFailures
    branches: Branches
    backfills: Backfills
    regressions: Regressions
    closures: Closures
    overrides: Overrides
    decisions: Decisions
    outbox: Outbox
    audit: Audit


class Store(Protocol):
    """The database as the control plane uses it."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a unit of work: committed at the end, rolled back if the body raises."""

    def exclusive(self, name: str, *, must_last: bool = False) -> AbstractContextManager[bool]:
        """Enter a section; the value is False if another process is in a section of that name.

        With ``must_last``, its end raises Transient if others could enter it meanwhile.
        """
