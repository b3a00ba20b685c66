"""Narrow a listed range to the commit that most of it came with, by measuring in idle pools."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.narrowing import MOST_CUT_SHORT, SECONDS_A_DAY
from service.domain.trunk.notice import Channel
from service.domain.trunk.regression import RegressionState
from service.domain.values.errors import Permanent, Transient
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.schedule import BranchKey, IdleJob
from service.ports.runs.runs import NewRun
from service.steps.runs.new_run import start_run
from service.steps.trunk.fill_history import ask_for_backfill
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


def branch(tmp_path: Path, steps: Sequence[float], without: int | None = None) -> Farm:
    """A branch whose commits make BM_a slower by these steps; no verdict after a merge said so.

    One commit may be ``without`` a run after its merge.
    """
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
        parent = revision
        if day != without:
            finish(farm, NewRun(RunKind.POST_SUBMIT, None, "gerrit", "kv", "master", revision))
    source.refs["refs/heads/master"] = parent
    return farm


def finish(farm: Farm, run: NewRun) -> None:
    """A run that measured nothing is over."""
    with farm.service.store.transaction() as tx:
        start_run(tx.runs, tx.outbox, run)
        tx.runs.end(len(farm.service.store.memory.runs), RunState.FINISHED)


def ask(farm: Farm, commits: int) -> None:
    ask_for_backfill(farm.service.store, ["gerrit"], "master", "", commits, "ann on perf-01")


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


def test_the_page_of_a_range_can_name_the_commit_and_nothing_else_changes(listed: Farm) -> None:
    memory = listed.service.store.memory
    [before] = memory.regressions
    told = dict(memory.notices)
    assert [each.channel for _, each in told] == [Channel.CHAT]
    links = []
    while start(listed):
        links.append(measure(listed))

    assert {(run.kind, run.previous_id) for run in links} == {(RunKind.ANCHOR, before.run_id)}
    assert len(links) <= 8
    [found] = memory.regressions
    assert found.narrowed is not None
    (series, run_id, commits) = found.narrowed
    assert run_id is not None
    assert (series, commits) == (before.results[0][0].series_id, 1)
    assert (memory.runs[run_id - 1].parent, memory.runs[run_id - 1].revision) == ("c9", "c10")
    assert replace(found, narrowed=None) == before
    assert start(listed) == 1
    again = measure(listed)
    assert (again.kind, again.previous_id) == (RunKind.LONGER, run_id), "it is compared with relinks, too"
    assert start(listed) == 0
    assert memory.regressions == [found]
    assert memory.notices == told, "no further notice leaves"
    listed.service.store.wait(7 * 3600)
    while start(listed):
        measure(listed)
        listed.service.store.wait(7 * 3600)
    assert len(memory.regressions) == 1, "later anchors over it are explained"


def test_a_backfill_does_not_list_a_commit_again_that_a_range_was_narrowed_to(listed: Farm) -> None:
    memory = listed.service.store.memory
    while start(listed):
        measure(listed)
    [before] = memory.regressions
    assert before.narrowed is not None
    ask(listed, DAYS - 10)
    backfilled = []
    while start(listed):
        backfilled.append(measure(listed))
    assert backfilled[-1].kind is RunKind.LONGER, "c10 was slower"
    assert memory.regressions == [before]


@pytest.mark.parametrize("without", [None, 10])
def test_no_notice_leaves_of_a_range_that_a_backfill_explains(tmp_path: Path, without: int | None) -> None:
    farm = branch(tmp_path, [0.05 if day == 10 else 0.0 for day in range(DAYS)], without)
    memory = farm.service.store.memory
    finish(farm, NewRun(RunKind.ANCHOR, None, "gerrit", "kv", "master", "c1", pool="perf", parent="c0"))
    ask(farm, DAYS - 10)
    while start(farm):
        measure(farm)
    [found] = memory.regressions
    assert memory.runs[found.run_id - 1].revision == "c10"
    farm.service.store.wait(7 * 3600)
    anchors = 0
    while start(farm):
        run = measure(farm)
        anchors += (run.kind, run.previous_id) == (RunKind.ANCHOR, None)
        farm.service.store.wait(7 * 3600)
    assert anchors > 1
    assert (memory.regressions, memory.notices) == ([found], {})


def test_a_range_is_left_alone_after_other_builds_ended_five_comparisons(listed: Farm) -> None:
    memory, service = listed.service.store.memory, listed.service
    ended = 0
    while start(listed):
        service.plan(len(memory.runs))
        service.store.update(len(memory.builds), state=BuildState.FINISHED, outcome=Outcome.CANCELLED)
        service.vote(len(memory.runs))
        ended += 1
    assert ended == MOST_CUT_SHORT
    assert memory.regressions[0].narrowed is None


def test_a_range_whose_own_link_has_no_error_is_left_alone(listed: Farm) -> None:
    """An earlier version measured it."""
    memory = listed.service.store.memory
    for build, results in memory.results.items():
        rows = [replace(each, error=None) for each in results.comparisons]
        memory.results[build] = replace(results, comparisons=rows)
    assert start(listed) == 0
    assert memory.regressions[0].narrowed is None


def test_commits_that_are_all_a_little_slower_stay_a_range(tmp_path: Path) -> None:
    farm = _listed(tmp_path, [0.01] * DAYS)
    memory = farm.service.store.memory
    before = memory.regressions[0]
    while start(farm):
        measure(farm)
    found = memory.regressions[0]
    assert found.narrowed is not None
    assert found.narrowed[1:] == (None, 0)
    assert replace(found, narrowed=None) == before


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
    assert memory.regressions[0].narrowed is None, "nobody can know"


def test_a_server_that_is_gone_is_skipped_and_an_outage_reported(listed: Farm) -> None:
    store = listed.service.store

    def gone(_: str) -> Service:
        raise Permanent("not configured")

    assert use_idle_pools(store, store, gone, listed.service.server.now()) == 0  # type: ignore[arg-type]
    listed.service.source.fault = Transient("no route")
    with pytest.raises(Transient, match="no route"):
        start(listed)
