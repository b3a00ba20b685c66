"""A change with a build that a machine worked on: what the control plane finds afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service.domain.measuring.pair_record import PairRecord
from service.domain.runs.states import BuildState
from service.ports.verdict import StoredPair
from service.steps.machines.execute import execute_build
from service.steps.runs.analyse import analyse
from service.steps.runs.tell_why import tell_why
from tests.support.building.build_host import MemoryClaimed, MemorySandbox, Silence, memory_host
from tests.support.memory.files import MemoryArtifacts
from tests.support.review.changes import LINKS, Service, change_at

if TYPE_CHECKING:
    from pathlib import Path

    from service.domain.review.change import Review
    from service.domain.runs.machine_report import MachineReport


@dataclass
class Farm:
    """A service with one machine, which has its own scratch space."""

    scratch: Path
    service: Service = field(default_factory=Service)
    artifacts: MemoryArtifacts = field(default_factory=MemoryArtifacts)
    sandbox: MemorySandbox = field(default_factory=MemorySandbox)

    def review(self, number: int = 1) -> None:
        """A patch set is uploaded, and its run planned."""
        self.service.see(change_at(number))
        self.service.plan(len(self.service.store.memory.runs))

    def execute(self, build_id: int = 1) -> MachineReport | None:
        """The machine works on a build and reports it."""
        memory = self.service.store.memory
        build = memory.builds[build_id - 1]
        assert build.sequence_id is not None
        stored = memory.pairs.get(build.sequence_id, ())
        claimed = MemoryClaimed(
            fixed=memory.listings.get(build.sequence_id, ()),
            records=[
                PairRecord(each.pair, self.artifacts.get(each.artifact), each.variant) for each in stored
            ],
            spec=build.spec,
        )
        host = memory_host(self.service.source, self.sandbox, self.scratch, artifacts=self.artifacts)
        execution = execute_build(claimed, host, Silence())
        memory.listings[build.sequence_id] = claimed.fixed
        memory.pairs[build.sequence_id] = [
            StoredPair(each.pair, self.artifacts.put(each.raw), each.variant) for each in claimed.measured
        ]
        self.report(execution, build_id)
        if claimed.explained:
            memory.explanations[build_id] = claimed.explained
        return execution

    def report(self, execution: MachineReport | None, build_id: int = 1) -> None:
        """The end of a machine's work reaches the database."""
        found = execution.to_mapping() if execution else None
        store = self.service.store
        store.update(build_id, state=BuildState.EXECUTED, execution=found, machine="perf-01")

    def tell_why(self, build_id: int = 1) -> list[Review]:
        """Tell what its machine found out about a build, and return the new reviews."""
        reviews = self.service.store.memory.reviews
        before = len(reviews)
        tell_why(self.service.store, LINKS, build_id)
        return [stored.review for stored in list(reviews.values())[before:]]

    def analyse(self, build_id: int = 1) -> None:
        """The results become verdicts."""
        analyse(self.service.store, self.artifacts, build_id)
