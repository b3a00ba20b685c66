"""A −1 that a second opinion lifts: from the comment to the vote, through the real database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.steps.machines.execute import execute_build
from service.steps.review.look_at_change import look_at_change
from service.steps.review.reconcile import reconcile
from service.steps.review.run_comment_commands import run_comment_commands
from service.steps.runs.analyse import analyse
from service.steps.runs.finish_run import finish_run
from service.steps.runs.plan_run import plan_run
from tests.integration.postgres.samples import claimed, worklist
from tests.support.building.build_host import MemorySandbox, Silence, memory_host
from tests.support.building.memory_source import CODE, code
from tests.support.fakes import WRITTEN, FakeReviewServer
from tests.support.memory.files import MemoryArtifacts
from tests.support.review.changes import KEY, LINKS, PROJECT_FILE, change_at, project

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from service.adapters.postgres.store import PostgresStore
    from service.domain.building.sandbox_command import Completed
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

SLOW, AS_BEFORE = code(BM_a=1.03e-6, BM_b=2e-6), code(BM_a=1e-6, BM_b=2e-6)


class MoodySandbox(MemorySandbox):
    """Programs that were slow once are quick again if ``is_calm``."""

    is_calm = False

    def _measure(self, program: str, flags: Mapping[str, str], output: Path) -> Completed:
        return super()._measure(AS_BEFORE if self.is_calm else program, flags, output)


class Site:
    """One machine, one project, a change with one patch set, 3 % slower in one of two benchmarks."""

    def __init__(self, store: PostgresStore, database: Database, scratch: Path) -> None:
        self.store, self.database, self.scratch = store, database, scratch
        self.source = project(PROJECT_FILE + "commands: {rerun: committers}\n")
        files = self.source.commits["patch1"].files
        self.source.commit("patch1", "parent", {**files, CODE: SLOW}, "refs/changes/07/7/1")
        self.artifacts = MemoryArtifacts()
        self.sandbox = MoodySandbox()
        self.machine = worklist(database, artifacts=self.artifacts)
        self.server = FakeReviewServer(members={("bob", "committers")})
        self.server.put(change_at(1, updated=WRITTEN))
        reconcile(store, self.server, is_full=False)
        look_at_change(store, self.server, KEY)

    def work(self) -> None:
        """The machine takes the next build, and the control plane what comes of it."""
        for (number,) in self.database.rows("SELECT id FROM run WHERE state = 'planning'"):
            plan_run(self.store, self.server, self.source, number, LINKS.run(number))
        host = memory_host(self.source, self.sandbox, self.scratch, artifacts=self.artifacts)
        with claimed(self.machine) as build:
            execute_build(build, host, Silence())
        for (number,) in self.database.rows("SELECT id FROM build WHERE state = 'executed'"):
            analyse(self.store, self.artifacts, number)
        for (number,) in self.database.rows("SELECT id FROM run WHERE state = 'running' ORDER BY id"):
            finish_run(self.store, LINKS, number)

    def say(self, text: str) -> None:
        self.server.say(KEY, "bob", f"Patch Set 1:\n\n{text}")
        look_at_change(self.store, self.server, KEY)
        for (number,) in self.database.rows("SELECT id FROM heard WHERE state = 'pending'"):
            run_comment_commands(self.store, self.server, self.source, LINKS, number)

    def decisions(self) -> list[tuple[int, str]]:
        """Vote and message of each decision."""
        found = self.database.rows("SELECT vote, message FROM decision ORDER BY id")
        return [(vote, message) for vote, message in found]

    def second_pairs(self) -> int:
        pairs = self.database.value("SELECT count(DISTINCT pair) FROM launch WHERE variant = 9")
        assert isinstance(pairs, int)
        return pairs


@pytest.fixture
def site(store: PostgresStore, database: Database, tmp_path: Path) -> Site:
    site = Site(store, database, tmp_path)
    site.work()
    ((vote, message),) = site.decisions()
    assert vote == -1
    assert "BM_a" in message
    return site


def test_a_recheck_lifts_a_slow_down_that_it_does_not_see_again(site: Site) -> None:
    site.sandbox.is_calm = True
    site.say("recheck")
    site.work()
    vote, message = site.decisions()[-1]

    assert vote == 1
    assert "lifted by the second opinion: same" in message
    assert "+3." in message or "+2.9" in message, "the first result stays beside the second"


def test_a_recheck_confirms_a_slow_down_and_leaves_nothing_to_measure(site: Site) -> None:
    site.say("recheck perf")
    site.work()
    vote, message = site.decisions()[-1]
    pairs = site.second_pairs()

    assert vote == -1
    assert "the second opinion does not lift it: slower" in message
    assert pairs > 0

    site.sandbox.is_calm = True
    site.say("recheck all")
    site.work()

    assert (site.decisions()[-1][0], site.second_pairs()) == (-1, pairs)
    answer = site.database.value("SELECT answer FROM heard ORDER BY id DESC LIMIT 1")
    assert "perf: nothing to measure: every verdict is final (2 decided)" in answer
