"""The store of the control plane: units of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from service.ports.transaction.builds import Builds, Evidence, Pairs, Results
from service.ports.transaction.decisions import Decisions, Outbox, Overrides
from service.ports.transaction.intake import Changes, Events, ReviewComments, SyncCursors
from service.ports.transaction.runs import Reruns, RunHistory, Runs

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Transaction(
    Events,
    SyncCursors,
    Changes,
    ReviewComments,
    Runs,
    RunHistory,
    Reruns,
    Builds,
    Pairs,
    Results,
    Evidence,
    Overrides,
    Decisions,
    Outbox,
    Protocol,
):
    """One unit of work: all of it is stored, or nothing."""


class Store(Protocol):
    """The database as the control plane uses it."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a unit of work: committed at the end, rolled back if the body raises."""

    def exclusive(self, name: str) -> AbstractContextManager[bool]:
        """Enter a section; the value is False if another process is in a section of that name."""
