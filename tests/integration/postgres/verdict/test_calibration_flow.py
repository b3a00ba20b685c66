"""A branch earns its votes: checks and calibrations through the real database, with programs in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.reading import PostgresReading
from service.domain.values.errors import Cancelled
from service.steps.machines.execute import execute_build
from service.steps.review.look_at_change import look_at_change
from service.steps.runs.analyse import analyse
from service.steps.runs.calibrate import calibrate
from service.steps.runs.finish_run import finish_run
from service.steps.runs.plan_run import plan_run
from service.steps.runs.sweep import sweep
from tests.integration.postgres.samples import claimed, worklist
from tests.support.building.build_host import MemorySandbox, Silence, memory_host
from tests.support.fakes import FakeReviewServer
from tests.support.memory.files import MemoryArtifacts
from tests.support.memory.store import MemoryQueue
from tests.support.review.changes import LINKS, PROJECT_FILE, change_at, project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep import PostgresUpkeep
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

AGE = "UPDATE run SET created_at = created_at - interval '2 h' WHERE kind = 'calibration'"


class Site:
    """One machine, one project, and the control plane over the real database."""

    def __init__(
        self, store: PostgresStore, upkeep: PostgresUpkeep, database: Database, scratch: Path
    ) -> None:
        self.store = store
        self.upkeep = upkeep
        self.database = database
        self.source = project(PROJECT_FILE.replace("probation: off", "probation: 40"))
        self.artifacts = MemoryArtifacts()
        self.sandbox = MemorySandbox()
        self.scratch = scratch
        self.machine = worklist(database, artifacts=self.artifacts)

    def check(self, patch_set: int) -> None:
        server = FakeReviewServer()
        server.put(change_at(patch_set))
        look_at_change(self.store, server, change_at(patch_set).key)
        self._plan()

    def calibrate(self) -> int:
        started = calibrate(self.store, self.upkeep, lambda _: self.source)
        self._plan()
        return started

    def work(self, before: Callable[[], None] = lambda: None) -> None:
        """The machine takes the next build, and the control plane what comes of it."""
        host = memory_host(self.source, self.sandbox, self.scratch, artifacts=self.artifacts)
        with claimed(self.machine) as build:
            before()
            execute_build(build, host, Silence())
        for (number,) in self.database.rows("SELECT id FROM build WHERE state = 'executed'"):
            analyse(self.store, self.artifacts, number)
        for (number,) in self.database.rows("SELECT id FROM run WHERE state = 'running' ORDER BY id"):
            finish_run(self.store, LINKS, number)

    def builds(self) -> list[tuple[str, str | None]]:
        """Kind and outcome of every build, in order."""
        found = self.database.rows("SELECT spec ->> 'kind', outcome FROM build ORDER BY id")
        return [(kind, outcome) for kind, outcome in found]

    def _plan(self) -> None:
        for (number,) in self.database.rows("SELECT id FROM run WHERE state = 'planning'"):
            plan_run(self.store, FakeReviewServer(), self.source, number, LINKS.run(number))


@pytest.fixture
def site(store: PostgresStore, upkeep: PostgresUpkeep, database: Database, tmp_path: Path) -> Site:
    return Site(store, upkeep, database, tmp_path)


def test_a_series_votes_with_a_control_before_it_has_three_sessions(site: Site) -> None:
    assert site.calibrate() == 0, "nobody asked for this branch yet"
    site.check(1)
    assert site.calibrate() == 0, "a build waits"
    site.work()
    assert site.database.value("SELECT vote FROM decision") == -1
    assert "the parent against itself: " in site.database.value("SELECT message FROM decision")

    for _ in range(3):
        assert site.calibrate() == 1
        assert site.calibrate() == 0
        site.work()
        assert site.calibrate() == 0, "an hour has not passed"
        site.database.change(AGE)
    assert site.calibrate() == 0, "all is known; a day has not passed"
    statuses = PostgresReading(site.database.owner).voting_statuses(10)
    assert {(each.voting_status.sessions, each.voting_status.why_not) for each in statuses} == {
        (3, None),
        (4, None),  # with the session of its control
    }

    site.check(2)
    site.work()
    assert site.builds() == [("check", "slower"), *[("calibration", "passed")] * 3, ("check", "slower")]
    assert site.database.rows("SELECT vote FROM decision ORDER BY id") == [(-1,), (-1,)]
    assert site.database.value("SELECT count(*) FROM outbox WHERE kind = 'review'") == 2


def test_a_calibration_ends_for_a_check_and_leaves_no_evidence(site: Site) -> None:
    site.check(1)
    site.work()
    assert site.calibrate() == 1

    def a_check_arrives() -> None:
        site.check(2)
        sweep(site.store, site.upkeep, MemoryQueue())
        site.sandbox.before = _cancel_at(len(site.sandbox.launches) + 5)

    site.work(before=a_check_arrives)
    site.sandbox.before = lambda _: None
    assert site.builds()[1] == ("calibration", "cancelled")
    kinds = "SELECT spec ->> 'kind' FROM evidence JOIN build ON build.id = build_id"
    assert site.database.rows(kinds) == [("check",)], "its control"
    site.work()
    assert [kind for kind, outcome in site.builds() if outcome is not None] == [
        "check",
        "calibration",
        "check",
    ]
    assert site.calibrate() == 0, "ten minutes have not passed"
    site.database.change(
        "UPDATE run SET created_at = created_at - interval '11 min' WHERE kind = 'calibration'"
    )
    assert site.calibrate() == 1, "what was cancelled is no reason to wait an hour"


def _cancel_at(launch: int) -> Callable[[int], None]:
    def before(number: int) -> None:
        # A real sandbox raises it once the renewal of the lease reports it.
        if number == launch:
            raise Cancelled("not wanted any more")

    return before
