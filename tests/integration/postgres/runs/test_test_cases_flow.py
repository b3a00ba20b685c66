"""Tests of a patch set and of the merged commit through the real database, on a sandbox that replays them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.reading import PostgresReading
from service.domain.building.sandbox_command import Completed
from service.domain.measuring.tests.record import read_tests
from service.domain.review.change import ChangeStatus
from service.domain.runs.vote import Outcome
from service.domain.values.search import Words
from service.steps.machines.execute import execute_build
from service.steps.review.look_at_change import look_at_change
from service.steps.runs.analyse import analyse
from service.steps.runs.finish_run import finish_run
from service.steps.runs.plan_run import plan_run
from tests.integration.postgres.samples import claimed, worklist
from tests.support.building.build_host import Silence, memory_host
from tests.support.fakes import FakeReviewServer
from tests.support.memory.files import MemoryArtifacts
from tests.support.review.changes import LINKS, change_at, project
from tests.unit.kinds.test_tests_tried import Replay

if TYPE_CHECKING:
    from pathlib import Path

    from service.adapters.postgres.store import PostgresStore
    from service.domain.review.change import Change
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

FILE = "version: 1\njobs:\n  unit: {kind: ctest, retries: 1}\n"
RESULTS = b"""<testsuite><testcase name="quick" time="0.25" status="run"/>
<testcase name="slow" time="2.5" status="run"/></testsuite>"""
FAILED = RESULTS.replace(b'status="run"/></', b'status="fail"><failure message=""/></testcase></')


class Site:
    """One machine, one project with tests, and the control plane over the real database."""

    def __init__(self, store: PostgresStore, database: Database, scratch: Path) -> None:
        self.store, self.database, self.scratch = store, database, scratch
        self.source = project(FILE)
        self.artifacts = MemoryArtifacts()
        self.machine = worklist(database, artifacts=self.artifacts)
        self.reading = PostgresReading(database.owner)

    def test(self, change: Change, *tries: tuple[Completed, bytes | None, bytes]) -> None:
        server = FakeReviewServer()
        server.put(change)
        look_at_change(self.store, server, change.key)
        for (number,) in self.database.rows("SELECT id FROM run WHERE state = 'planning'"):
            plan_run(self.store, server, self.source, number, LINKS.run(number))
        host = memory_host(self.source, Replay(tries=list(tries)), self.scratch, artifacts=self.artifacts)
        with claimed(self.machine) as build:
            execute_build(build, host, Silence())
        for (number,) in self.database.rows("SELECT id FROM build WHERE state = 'executed'"):
            analyse(self.store, self.artifacts, number)
        for (number,) in self.database.rows("SELECT id FROM run WHERE state = 'running' ORDER BY id"):
            finish_run(self.store, LINKS, number)


@pytest.fixture
def site(store: PostgresStore, database: Database, tmp_path: Path) -> Site:
    return Site(store, database, tmp_path)


def test_a_patch_set_has_test_cases_and_the_merged_commit_also_series(site: Site) -> None:
    site.test(change_at(1), (Completed(8, 3.0), FAILED, b""), (Completed(0, 1.0), RESULTS, b""))
    detail = site.reading.build("unit", 1)
    (suite,) = read_tests(site.artifacts.get(detail.tests))

    assert (detail.build.outcome, detail.build.compares) == (Outcome.PASSED, False)
    assert detail.build.causes == ("failed, then passed on a retry: slow",)
    assert ([case.name for case in suite.run.cases], suite.retried) == (["quick", "slow"], ("slow",))
    assert site.reading.series(Words(), 10) == []

    site.source.refs["refs/heads/master"] = "patch1"
    merged = change_at(1, status=ChangeStatus.MERGED, merged_as="patch1", minutes=5)
    site.test(merged, (Completed(0, 3.0), RESULTS, b""))
    found = {each.benchmark: each for each in site.reading.series(Words(), 10)}
    (point,) = site.reading.trend(found["slow"].id, 10).points
    assert set(found) == {"quick", "slow"}
    assert (found["slow"].suite, found["slow"].metric, found["slow"].unit) == ("ctest", "real_time", "s")
    assert (point.verdict, point.pairs, point.patch, point.number) == ("new", 1, 2.5, 2)
