"""A store over a memory, and a broker: they keep the promises of the real ones."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service.domain.values.errors import Transient
from service.ports.runs.queue import Queue
from service.ports.store import Store, Transaction
from tests.support.memory.audit import MemoryAudit
from tests.support.memory.backfills import MemoryBackfills
from tests.support.memory.branches import MemoryBranches
from tests.support.memory.builds import MemoryBuilds, MemoryEvidence, MemoryExplanations, MemoryMeasurements
from tests.support.memory.claims import MemoryClaims
from tests.support.memory.closures import MemoryClosures
from tests.support.memory.decisions import MemoryDecisions, MemoryOutbox, MemoryOverrides
from tests.support.memory.failures import MemoryFailures, MemoryKnownFailures
from tests.support.memory.intake import (
    MemoryChanges,
    MemoryEvents,
    MemoryReviewComments,
    MemoryVisibility,
)
from tests.support.memory.reports import MemoryExternalBuilds
from tests.support.memory.runs import MemoryRunHistory, MemoryRuns
from tests.support.memory.trunk import MemoryRegressions
from tests.support.memory.upkeep import MemoryUpkeep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.ports.runs.queue import Task
    from tests.support.memory.state import Memory


def unit_of_work(memory: Memory) -> Transaction:
    """A unit of work on a memory."""
    return Transaction(
        events=MemoryEvents(memory),
        changes=MemoryChanges(memory),
        visibility=MemoryVisibility(memory),
        comments=MemoryReviewComments(memory),
        runs=MemoryRuns(memory),
        history=MemoryRunHistory(memory),
        builds=MemoryBuilds(memory),
        external=MemoryExternalBuilds(memory),
        measurements=MemoryMeasurements(memory),
        imported=MemoryMeasurements(memory),
        evidence=MemoryEvidence(memory),
        explanations=MemoryExplanations(memory),
        claims=MemoryClaims(memory),
        failures=MemoryFailures(memory),
        known=MemoryKnownFailures(memory),
        branches=MemoryBranches(memory),
        backfills=MemoryBackfills(memory),
        regressions=MemoryRegressions(memory),
        closures=MemoryClosures(memory),
        overrides=MemoryOverrides(memory),
        decisions=MemoryDecisions(memory),
        outbox=MemoryOutbox(memory),
        audit=MemoryAudit(memory),
    )


class MemoryStore(MemoryUpkeep, Store):
    """Store and Upkeep over one memory; a transaction that fails leaves it as it was."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: set[str] = set()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        before = self.memory.snapshot()
        try:
            yield unit_of_work(self.memory)
        except BaseException:
            self.memory.restore(before)
            raise

    @contextmanager
    def exclusive(self, name: str, *, must_last: bool = False) -> Iterator[bool]:
        is_ours = name not in self.taken
        if is_ours:
            self.taken.add(name)
        try:
            yield is_ours
        finally:
            if is_ours:
                self.taken.remove(name)


@dataclass
class MemoryQueue(Queue):
    """A broker that can be down."""

    is_down: bool = False
    sent: list[tuple[Task, int, str]] = field(default_factory=list)

    def send(self, task: Task, entity: int, pool: str) -> None:
        if self.is_down:
            raise Transient("the broker does not answer")
        self.sent.append((task, entity, pool))

    def waiting(self) -> int:
        if self.is_down:
            raise Transient("the broker does not answer")
        return sum(not task.is_for_machines for task, _, _ in self.sent)
