"""Check a patch set's own project file, from the event to the posted review."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.project.job_kinds import KINDS
from service.domain.review.change import InlineComment
from service.domain.review.links import Links
from service.steps.review.deliver import deliver_reviews
from service.steps.review.look_at_change import look_at_change
from service.steps.runs.finish_run import finish_run
from service.steps.runs.plan_run import plan_run
from tests.support.building.memory_source import MemorySource
from tests.support.fakes import FakeReviewServer
from tests.support.review.changes import PROJECT_FILE
from tests.support.store_samples import change

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep import PostgresUpkeep
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

LINKS = Links("https://bench.example.com/")
PARENT = "f" * 40


def test_a_broken_file_gets_a_vote_and_a_comment_on_its_line(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    source, server, proposed = MemorySource(), FakeReviewServer("review"), change()
    source.commit(PARENT, None, {"benchgate.yaml": PROJECT_FILE}, "refs/heads/master")
    broken = PROJECT_FILE.replace("kind: benchmark", "kind: benchmrk")
    source.commit(proposed.current.revision, PARENT, {"benchgate.yaml": broken}, proposed.current.ref)
    server.put(proposed)
    look_at_change(store, server, proposed.key)
    run = database.value("SELECT id FROM run")
    plan_run(store, server, source, run, LINKS.run(run))
    finish_run(store, LINKS, run)
    deliver_reviews(store, upkeep, server)

    (posted,) = server.reviews
    problem = f"jobs.perf.kind: this version does not run benchmrk; it runs {', '.join(KINDS)}"
    assert posted.labels == {"Performance": -1}
    assert posted.comments == (InlineComment("benchgate.yaml", 5, f"benchgate.yaml: {problem}"),)
    assert f"benchgate.yaml:5: {problem}\n" in posted.message
