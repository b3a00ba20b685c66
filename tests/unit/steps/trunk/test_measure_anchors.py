"""Measure anchors while a pool is idle, from the choice of two commits to the end of the run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from service.domain.building.spec import BuildSpec
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Permanent, Transient
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.evidence import SESSION_PAIRS
from service.domain.verdict.calibration.schedule import BranchKey, IdleJob
from service.ports.runs.runs import NewRun
from service.steps.runs.new_run import start_run
from service.steps.trunk.measure_anchors import measure_anchors
from tests.support.building.memory_source import code
from tests.support.review.changes import PROJECT_FILE, Service, project
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from pathlib import Path

BRANCH = BranchKey("perf", "gerrit", "kv", "master")
CONFIG = {"kind": "benchmark", "suites": [{"name": "bench", "program": "build/bench"}]}
JOB = IdleJob(BRANCH, "perf", CONFIG, since=60.0, pairs=100, sessions=5)
WEEKS = 3


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    """An idle pool, and a branch with a measured commit a day, each slower than the one before."""
    farm = Farm(tmp_path, Service(source=project(PROJECT_FILE)))
    service, source = farm.service, farm.service.source
    service.store.memory.idle_jobs = [JOB]
    parent, files = "parent", source.commits["parent"].files
    begin = service.server.now() - timedelta(days=7 * WEEKS)
    for day in range(7 * WEEKS):
        revision = f"c{day}"
        source.commit(revision, parent, {**files, "bench.json": code(BM_a=1.0 + day / 100, BM_b=1.0)})
        source.commits[revision] = replace(source.commits[revision], committed_at=begin + timedelta(days=day))
        with service.store.transaction() as tx:
            run = NewRun(RunKind.POST_SUBMIT, None, "gerrit", "kv", "master", revision)
            start_run(tx.runs, tx.outbox, run)
        parent = revision
    source.refs["refs/heads/master"] = parent
    return farm


def start(farm: Farm) -> int:
    store = farm.service.store
    return measure_anchors(store, store, lambda _: farm.service.source, farm.service.server.now())


def anchors(farm: Farm) -> list[tuple[str | None, str, RunState]]:
    runs = farm.service.store.memory.runs
    return [(run.parent, run.revision, run.state) for run in runs if run.kind is RunKind.ANCHOR]


def test_an_idle_pool_compares_distant_commits_with_a_fixed_number_of_pairs(farm: Farm) -> None:
    assert start(farm) == 1
    [(base, patch, _)] = anchors(farm)
    memory = farm.service.store.memory
    run = len(memory.runs)
    farm.service.plan(run)
    build = memory.builds[-1]
    spec = BuildSpec.from_mapping(build.spec)
    assert spec.base is not None
    assert (spec.base.commit, spec.patch.commit, spec.base.trust, spec.patch.trust) == (
        base,
        patch,
        "reviewed",
        "reviewed",
    )
    assert not build.is_voting
    farm.execute(build.id)
    farm.analyse(build.id)
    farm.service.vote(run)

    assert anchors(farm) == [(base, patch, RunState.FINISHED)]
    found = memory.results[build.id].comparisons
    assert {(each.series.benchmark, each.pairs) for each in found} == {
        ("BM_a", SESSION_PAIRS),
        ("BM_b", SESSION_PAIRS),
    }
    build = memory.builds[build.id - 1]
    assert (build.outcome, build.slowdowns, build.blamed) == (Outcome.PASSED, None, ())
    assert "2 comparisons of distant commits" in build.causes[0]
    assert (memory.decisions, memory.reviews, memory.regressions) == ([], {}, [])


def test_the_pool_rests_before_the_next_one(farm: Farm) -> None:
    assert [start(farm), start(farm)] == [1, 0]
    memory = farm.service.store.memory
    farm.service.plan(len(memory.runs))
    farm.execute(len(memory.builds))
    farm.analyse(len(memory.builds))
    farm.service.vote(len(memory.runs))
    assert start(farm) == 0
    farm.service.store.wait(7 * 3600)
    assert start(farm) == 1
    first, second = anchors(farm)
    assert first[:2] != second[:2]


def test_nothing_is_fetched_while_the_pool_measures_or_the_branch_rests(farm: Farm) -> None:
    store = farm.service.store
    with store.transaction() as tx:
        run = NewRun(RunKind.CALIBRATION, None, "gerrit", "kv", "master", "c3", pool="perf")
        start_run(tx.runs, tx.outbox, run)
    assert (start(farm), farm.service.source.fetched) == (0, [])
    store.memory.runs[-1] = replace(store.memory.runs[-1], state=RunState.FINISHED)
    assert start(farm) == 1
    store.memory.runs[-1] = replace(store.memory.runs[-1], state=RunState.FINISHED)
    fetched = len(farm.service.source.fetched)
    assert (start(farm), len(farm.service.source.fetched)) == (0, fetched)


def test_a_branch_that_was_set_back_is_not_measured(farm: Farm) -> None:
    assert start(farm) == 1
    farm.service.source.refs["refs/heads/master"] = "parent"
    farm.service.plan(len(farm.service.store.memory.runs))
    [(_, _, state)] = anchors(farm)
    assert state is RunState.REFUSED


def test_a_server_that_is_gone_is_skipped_and_an_outage_reported(farm: Farm) -> None:
    store = farm.service.store

    def gone(_: str) -> Service:
        raise Permanent("not configured")

    assert measure_anchors(store, store, gone, farm.service.server.now()) == 0  # type: ignore[arg-type]
    farm.service.source.fault = Transient("no route")
    with pytest.raises(Transient, match="no route"):
        start(farm)
