"""Compare the code that moves builds with the table of transitions, pair by pair."""

from __future__ import annotations

import itertools
import json
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.building.spec import BuildSpec, Revision
from service.domain.project.job_kinds import JobKind
from service.domain.project.project_file import parse_job
from service.domain.runs.external import ExternalBuild, ReportedRevision
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.states import MAX_ATTEMPTS, BuildState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import LeaseLost
from service.domain.values.identity import ChangeKey, RunKind
from service.steps.runs.analyse import analyse, give_up
from service.steps.runs.sweep import sweep
from tests.integration.postgres.samples import claimed, worklist
from tests.support.memory.files import MemoryArtifacts
from tests.support.memory.store import MemoryQueue
from tests.support.runs.build_states import TRANSITIONS, BuildEvent, after_lost_lease, state_after
from tests.support.runs.external import record_external_build
from tests.support.store_samples import BUILD, queue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.adapters.postgres.machines.worklist import ClaimedBuild
    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep import PostgresUpkeep
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

REPORTED: Final = ExternalBuild("cv-perf", 5, "http://ci.example.com/job/cv-perf/5/")
TARGET: Final = ReportedRevision(ChangeKey("review", 7), "1" * 40)
_PATCH: Final = Revision("1" * 40, "t" * 40, "ref", "unreviewed")
_JOB: Final = parse_job("cv-perf", {"kind": "external"})
EXTERNAL: Final = replace(
    BUILD,
    kind=JobKind("external"),
    spec=BuildSpec(RunKind.CHECK, "review", "kv_engine", "master", None, _PATCH, _JOB).to_mapping(),
)


EXECUTION: Final = MachineReport(outcome=Outcome.FAILED, causes=("does not compile",)).to_mapping()
EXPIRED_LEASE: Final = """
INSERT INTO lease (build_id, machine, token, renewed_at, expires_at)
SELECT id, 'perf-01', 1, now(), now() - interval '1 s' FROM build
"""


@dataclass(frozen=True, slots=True)
class Plane:
    """One build, and the code that moves builds."""

    store: PostgresStore
    upkeep: PostgresUpkeep
    database: Database

    @property
    def state(self) -> BuildState:
        return BuildState(self.database.value("SELECT state FROM build"))

    def put(self, state: BuildState, attempt: int = 1) -> None:
        """Set a state past every guard, with all that any event needs."""
        self.database.change(
            "UPDATE build SET state = :state, outcome = :outcome, attempt = :attempt, external_number = 5,"
            " execution = cast(:execution AS jsonb), spec = cast(:spec AS jsonb)",
            state=state.value,
            outcome=Outcome.PASSED.value if state is BuildState.FINISHED else None,
            attempt=attempt,
            execution=json.dumps(EXECUTION),
            spec=json.dumps(EXTERNAL.spec),
        )


def claim(plane: Plane, state: BuildState) -> None:
    queue(plane.store)
    plane.put(state)
    build = worklist(plane.database).claim()
    if build is not None:
        build.close()


def end_work(plane: Plane, state: BuildState, end: Callable[[ClaimedBuild], None]) -> None:
    """Let the machine that holds the lease end its work."""
    queue(plane.store)
    with claimed(worklist(plane.database)) as build, suppress(LeaseLost):
        plane.put(state)
        end(build)


def lose_lease(plane: Plane, state: BuildState, attempt: int = 1) -> None:
    queue(plane.store)
    plane.put(state, attempt)
    plane.database.change(EXPIRED_LEASE)
    plane.upkeep.requeue_lost_builds(MAX_ATTEMPTS)


def decide(plane: Plane, state: BuildState, step: Callable[[int], None]) -> None:
    [build_id] = queue(plane.store)
    plane.put(state)
    step(build_id)


def report(plane: Plane, state: BuildState) -> None:
    queue(plane.store, EXTERNAL)
    plane.put(state)
    record_external_build(plane.store, TARGET, REPORTED, "FAILURE")


DRIVERS: Final[Mapping[BuildEvent, Callable[[Plane, BuildState], None]]] = {
    BuildEvent.CLAIMED: claim,
    BuildEvent.RELEASED: lambda plane, state: end_work(plane, state, lambda build: build.release()),
    BuildEvent.LEASE_EXPIRED: lose_lease,
    BuildEvent.EXECUTED: lambda plane, state: end_work(plane, state, lambda build: build.complete(EXECUTION)),
    BuildEvent.GIVEN_UP: lambda plane, state: decide(
        plane, state, lambda build_id: give_up(plane.store, build_id, "its deadline passed")
    ),
    BuildEvent.ANALYSED: lambda plane, state: decide(
        plane, state, lambda build_id: analyse(plane.store, MemoryArtifacts(), build_id)
    ),
    BuildEvent.REPORTED: report,
}


@pytest.fixture
def plane(store: PostgresStore, upkeep: PostgresUpkeep, database: Database) -> Plane:
    return Plane(store, upkeep, database)


@pytest.mark.parametrize(("state", "event"), list(itertools.product(BuildState, BuildEvent)))
def test_a_build_moves_as_the_table_allows_and_no_other_way(
    plane: Plane, state: BuildState, event: BuildEvent
) -> None:
    DRIVERS[event](plane, state)

    assert plane.state is TRANSITIONS.get((state, event), state)


@pytest.mark.parametrize("attempt", range(1, MAX_ATTEMPTS + 2))
def test_a_lost_lease_ends_the_build_after_its_last_attempt(plane: Plane, attempt: int) -> None:
    lose_lease(plane, BuildState.RUNNING, attempt)
    sweep(plane.store, plane.upkeep, MemoryQueue())

    assert plane.state is state_after(BuildState.RUNNING, after_lost_lease(attempt))
