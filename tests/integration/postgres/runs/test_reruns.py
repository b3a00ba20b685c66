"""Reruns as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.building.spec import BuildSpec, Revision
from service.domain.project.job_kinds import JobKind
from service.domain.project.project_file import parse_job
from service.domain.runs.states import RunState
from service.domain.values.identity import RunKind
from tests.support.store_samples import named, queue

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep import PostgresUpkeep
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.fixture
def builds(store: PostgresStore) -> list[int]:
    """The builds of run 1."""
    return list(queue(store, named("a", sequence="trees a"), named("b", sequence="trees b")))


def test_a_reused_build_is_marked_in_the_next_run(
    store: PostgresStore, database: Database, builds: list[int]
) -> None:
    with store.transaction() as tx:
        tx.runs.end(1, RunState.FINISHED)
        following = tx.runs.follow(tx.runs.lock(1), None)
        tx.builds.take(following, 0, builds[1])
        again = tx.builds.repeat(tx.builds.lock(builds[0]), None, 3600.0)
        tx.builds.put(following, 1, "a", again, None)
        run, first = tx.runs.lock(following), tx.runs.lock(1)
        assert (run.revision, run.label, run.parent) == (first.revision, first.label, first.parent)
        assert run.state is RunState.RUNNING
        assert [build.id for build in tx.builds.of_run(following)] == [builds[1], again]
        assert first.patch_set_id is not None
        assert tx.history.newest_check(first.patch_set_id) == run
    assert database.rows("SELECT build_id FROM run_build WHERE is_reused") == [(builds[1],)]


def test_a_replaced_build_is_remembered_with_its_position(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database, builds: list[int]
) -> None:
    with store.transaction() as tx:
        again = tx.builds.repeat(tx.builds.lock(builds[0]), None, 3600.0)
        tx.builds.put(1, 0, "a", again, None)
        assert [build.id for build in tx.builds.of_run(1)] == [again, builds[1]]
    assert database.rows("SELECT run_id, build_id, position FROM replaced_build") == [(1, builds[0], 0)]
    upkeep.drop_unwanted_builds()
    assert upkeep.cancelled_builds() == [builds[0]]


def test_a_repeated_build_has_its_host_to_itself_only_if_it_compares_now(
    store: PostgresStore, database: Database
) -> None:
    [build] = queue(store, named("a", kind=JobKind("ctest"), is_exclusive=False))
    suites = [{"name": "bench", "program": "build/bench"}]
    job = parse_job("a", {"kind": "benchmark", "pool": "perf", "build": {}, "suites": suites})
    patch = Revision("1" * 40, "t" * 40, "ref", "unreviewed")
    spec = BuildSpec(RunKind.CHECK, "review", "kv_engine", "master", None, patch, job)
    with store.transaction() as tx:
        tx.builds.repeat(tx.builds.lock(build), spec, 3600.0)
        tx.builds.repeat(tx.builds.lock(build), None, 3600.0)
    assert database.rows("SELECT is_exclusive FROM build ORDER BY id") == [(False,), (True,), (False,)]
