"""Narrow a listed range to the commit that did it, by measuring in idle pools."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from service.domain.runs.states import RunState
from service.domain.trunk.narrowing import SECONDS_A_DAY
from service.domain.trunk.notice import Channel
from service.domain.trunk.regression import GateSaid, RegressionState
from service.domain.values.errors import Permanent, Transient
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.schedule import BranchKey, IdleJob
from service.ports.runs.runs import NewRun
from service.steps.runs.new_run import start_run
from service.steps.trunk.use_idle_pools import use_idle_pools
from tests.support.building.memory_source import code
from tests.support.review.changes import PROJECT_FILE, Service, project
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from service.ports.runs.runs import RunRecord

BRANCH = BranchKey("perf", "gerrit", "kv", "master")
CONFIG = {"kind": "benchmark", "suites": [{"name": "bench", "program": "build/bench"}]}
JOB = IdleJob(BRANCH, "perf", CONFIG, since=60.0, pairs=100, sessions=5)
DAYS = 21  # a commit a day


def branch(tmp_path: Path, steps: Sequence[float]) -> Farm:
    """A branch whose commits make BM_a slower by these steps; no verdict after a merge said so."""
    farm = Farm(tmp_path, Service(source=project(PROJECT_FILE)))
    service, source = farm.service, farm.service.source
    memory = service.store.memory
    memory.idle_jobs = [JOB]
    parent, files = "parent", source.commits["parent"].files
    begin = service.server.now() - timedelta(days=DAYS)
    for day in range(DAYS):
        level = 1.0 + sum(steps[: day + 1])
        revision = source.commit(
            f"c{day}", parent, {**files, "bench.json": code(BM_a=level, BM_b=1.0 + day / 1e6)}
        )
        made = replace(source.commits[revision], committed_at=begin + timedelta(days=day), author=f"A{day}")
        source.commits[revision] = made
        with service.store.transaction() as tx:
            start_run(
                tx.runs, tx.outbox, NewRun(RunKind.POST_SUBMIT, None, "gerrit", "kv", "master", revision)
            )
            tx.runs.end(day + 1, RunState.FINISHED)
        parent = revision
    source.refs["refs/heads/master"] = parent
    return farm


def start(farm: Farm) -> int:
    store = farm.service.store
    return use_idle_pools(store, store, lambda _: farm.service.source, farm.service.server.now())


def measure(farm: Farm) -> RunRecord:
    """The newest run is planned, measured and finished."""
    memory, service = farm.service.store.memory, farm.service
    run = len(memory.runs)
    if memory.runs[-1].state is RunState.PLANNING:
        service.plan(run)
    farm.execute(len(memory.builds))
    farm.analyse(len(memory.builds))
    service.vote(run)
    return memory.runs[-1]


@pytest.fixture
def listed(tmp_path: Path) -> Farm:
    """A range of seven or more commits is listed; one of them, c10, is 5 % slower."""
    return _listed(tmp_path, [0.05 if day == 10 else 0.0 for day in range(DAYS)])


def _listed(tmp_path: Path, steps: Sequence[float]) -> Farm:
    farm = branch(tmp_path, steps)
    for _ in range(8):
        assert start(farm) == 1
        measure(farm)
        if farm.service.store.memory.regressions:
            return farm
        farm.service.store.wait(7 * 3600)
    raise AssertionError("no anchor found it")


def test_a_range_becomes_a_regression_of_the_commit_that_did_it(listed: Farm) -> None:
    memory = listed.service.store.memory
    [before] = memory.regressions
    told = dict(memory.notices)
    assert [each.channel for _, each in told] == [Channel.CHAT]
    links = []
    while start(listed):
        links.append(measure(listed))

    assert {(run.kind, run.previous_id) for run in links} == {(RunKind.ANCHOR, before.run_id)}
    assert ("c9", "c10") in {(run.parent, run.revision) for run in links}
    assert len(links) <= 8
    [found] = memory.regressions
    of = memory.runs[found.run_id - 1]
    assert (of.kind, of.revision, found.range_run_id) == (RunKind.POST_SUBMIT, "c10", before.run_id)
    assert [said for _, said in found.results] == [GateSaid.SPREAD]
    assert memory.notices == told, "no further notice leaves"
    listed.service.store.wait(7 * 3600)
    while start(listed):
        measure(listed)
        listed.service.store.wait(7 * 3600)
    assert len(memory.regressions) == 1, "later anchors over it are explained"


def test_commits_that_are_all_a_little_slower_stay_a_range(tmp_path: Path) -> None:
    farm = _listed(tmp_path, [0.01] * DAYS)
    memory = farm.service.store.memory
    run = memory.regressions[0].run_id
    while start(farm):
        measure(farm)
    assert (memory.regressions[0].run_id, memory.regressions[0].range_run_id) == (run, run)


def test_narrowing_ends_for_the_day_when_its_machine_time_is_spent(listed: Farm) -> None:
    memory, store = listed.service.store.memory, listed.service.store
    assert start(listed) == 1
    assert [run.previous_id for run in memory.runs][-1] is not None
    store.wait(SECONDS_A_DAY)
    measure(listed)
    assert start(listed) == 0
    store.wait(86400.0 - SECONDS_A_DAY)
    starts = [start(listed)]
    if memory.runs[-1].previous_id is None:  # an anchor was due
        measure(listed)
        starts.append(start(listed))
    assert starts[-1] == 1


def test_a_range_that_somebody_closed_is_not_narrowed(listed: Farm) -> None:
    memory = listed.service.store.memory
    memory.regressions[0] = replace(memory.regressions[0], state=RegressionState.ACCEPTED)
    assert start(listed) == 0


def test_a_branch_that_was_set_back_keeps_its_range(listed: Farm) -> None:
    memory = listed.service.store.memory
    listed.service.source.refs["refs/heads/master"] = "parent"
    assert start(listed) == 0
    [found] = memory.regressions
    assert found.range_run_id == found.run_id


def test_a_server_that_is_gone_is_skipped_and_an_outage_reported(listed: Farm) -> None:
    store = listed.service.store

    def gone(_: str) -> Service:
        raise Permanent("not configured")

    assert use_idle_pools(store, store, gone, listed.service.server.now()) == 0  # type: ignore[arg-type]
    listed.service.source.fault = Transient("no route")
    with pytest.raises(Transient, match="no route"):
        start(listed)
