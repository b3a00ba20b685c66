"""Measure older commits of a branch in idle pools, to the end of their runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from service.domain.access.audit import AuditKind
from service.domain.building.spec import BuildSpec
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.backfill import Backfill
from service.domain.trunk.regression import GateSaid
from service.domain.values.errors import BadInput, Permanent, Transient
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.schedule import BranchKey, IdleJob
from service.ports.runs.runs import NewRun
from service.steps.runs.new_run import start_run
from service.steps.trunk.fill_history import ask_for_backfill, end_backfill
from service.steps.trunk.use_idle_pools import use_idle_pools
from tests.support.building.memory_source import code
from tests.support.review.changes import PROJECT_FILE, Service, project
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from pathlib import Path

    from service.ports.backfill import StoredBackfill
    from service.ports.runs.runs import RunRecord

BRANCH = BranchKey("perf", "gerrit", "kv", "master")
CONFIG = {"kind": "benchmark", "suites": [{"name": "bench", "program": "build/bench"}]}
JOB = IdleJob(BRANCH, "perf", CONFIG, since=60.0, pairs=100, sessions=5)
COMMITS = 4  # c0 to c3; c2 is 5 % slower
OPERATOR = "ann on perf-01"


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    """An idle pool, and a branch whose head was checked, and whose other commits nobody measured."""
    farm = Farm(tmp_path, Service(source=project(PROJECT_FILE)))
    service, source = farm.service, farm.service.source
    service.store.memory.idle_jobs = [JOB]
    files = source.commits["parent"].files
    begin = service.server.now() - timedelta(days=100)
    for number in range(COMMITS):
        revision, slow = f"c{number}", 1.05 if number > 1 else 1.0
        parent = f"c{number - 1}" if number else None
        # The file differs, so that each commit touches the job.
        source.commit(revision, parent, {**files, "bench.json": code(BM_a=slow, BM_b=1.0 + number / 1e6)})
        made = replace(source.commits[revision], committed_at=begin + timedelta(days=number), author="Ben")
        source.commits[revision] = made
    source.refs["refs/heads/master"] = f"c{COMMITS - 1}"
    with service.store.transaction() as tx:
        run = NewRun(RunKind.CHECK, None, "gerrit", "kv", "master", "c3")
        start_run(tx.runs, tx.outbox, run)
        tx.runs.end(1, RunState.FINISHED)
    return farm


def ask(farm: Farm, last: int, project: str = "", branch: str = "master") -> int:
    return ask_for_backfill(farm.service.store, ["gerrit"], branch, project, last, OPERATOR)


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


def progress(farm: Farm) -> StoredBackfill:
    with farm.service.store.transaction() as tx:
        return tx.backfills.list()[0]


def test_an_idle_pool_measures_one_commit_after_the_other_until_the_request_is_done(farm: Farm) -> None:
    ask(farm, 3)
    measured = []
    while start(farm):
        assert start(farm) == 0, "the pool measures"
        measured.append(measure(farm))

    links = [run for run in measured if run.kind is RunKind.ANCHOR]
    assert [(run.parent, run.revision) for run in links] == [("c2", "c3"), ("c1", "c2"), ("c0", "c1")]
    source = farm.service.source
    assert [run.committed_at for run in links] == [source.commits[run.revision].committed_at for run in links]
    done = progress(farm)
    assert (done.links, done.left, done.failed, done.ended_at is not None) == (3, 0, 0, True)
    spec = BuildSpec.from_mapping(farm.service.store.memory.builds[0].spec)
    assert (spec.kind, spec.patch.trust) == (RunKind.ANCHOR, "reviewed")


def test_what_a_backfill_finds_is_listed_and_no_notice_leaves(farm: Farm) -> None:
    ask(farm, 2)
    kinds = []
    while start(farm):
        kinds.append(measure(farm).kind)
    assert kinds == [RunKind.ANCHOR, RunKind.ANCHOR, RunKind.LONGER]
    memory = farm.service.store.memory
    [found] = memory.regressions
    assert memory.runs[found.run_id - 1].revision == "c2"
    [(result, said)] = found.results
    assert (result.benchmark, said) == ("BM_a", GateSaid.NO_CHECK)
    assert (memory.notices, memory.reviews, memory.decisions) == ({}, {}, [])


def test_a_commit_that_does_not_build_is_left_out_after_two_tries(farm: Farm) -> None:
    ask(farm, 1)
    memory, service = farm.service.store.memory, farm.service
    for _ in range(2):
        assert start(farm) == 1
        service.plan(len(memory.runs))
        service.store.update(len(memory.builds), state=BuildState.FINISHED, outcome=Outcome.PARENT_BROKEN)
        service.vote(len(memory.runs))
    assert start(farm) == 0
    done = progress(farm)
    assert (done.links, done.left, done.failed, done.ended_at is not None) == (1, 0, 1, True)


def test_a_link_that_another_build_ended_goes_on(farm: Farm) -> None:
    ask(farm, 1)
    memory, service = farm.service.store.memory, farm.service
    assert start(farm) == 1
    service.plan(len(memory.runs))
    service.store.update(len(memory.builds), state=BuildState.FINISHED, outcome=Outcome.CANCELLED)
    service.vote(len(memory.runs))
    assert start(farm) == 1
    assert memory.runs[-1].revision == "c3"
    measure(farm)
    assert memory.builds[0].sequence_id == memory.builds[1].sequence_id
    assert start(farm) == 0


def test_a_pool_that_is_not_idle_measures_nothing(farm: Farm) -> None:
    ask(farm, 1)
    memory = farm.service.store.memory
    memory.idle_jobs = []
    assert (start(farm), farm.service.source.fetched) == (0, [])
    memory.idle_jobs = [JOB]
    assert start(farm) == 1
    fetched = [*farm.service.source.fetched]
    assert (start(farm), farm.service.source.fetched) == (0, fetched), "it measures already"


def test_the_end_of_a_request_is_in_the_audit_log(farm: Farm) -> None:
    number = ask(farm, 1)
    store = farm.service.store
    assert [end_backfill(store, number, OPERATOR), end_backfill(store, number, OPERATOR)] == [True, False]
    assert start(farm) == 0
    kinds = [(each.kind, each.actor, each.subject) for each in store.memory.audit]
    assert kinds[1:] == [(AuditKind.COMPARISON_ENDED, OPERATOR, "backfill 1")]


def test_a_project_without_benchmarks_has_nothing_to_measure(farm: Farm) -> None:
    head = farm.service.source.commits["c3"]
    other = "version: 1\njobs: {lint: {kind: clang-format, pool: lint}}\n"
    farm.service.source.commits["c3"] = replace(head, files={**head.files, "benchgate.yaml": other})
    ask(farm, 1)
    assert start(farm) == 0
    assert (progress(farm).links, progress(farm).ended_at is not None) == (0, True)


def test_a_server_that_is_gone_lets_a_request_wait_and_an_outage_is_reported(farm: Farm) -> None:
    ask(farm, 1)
    store = farm.service.store

    def gone(_: str) -> Service:
        raise Permanent("not configured")

    assert use_idle_pools(store, store, gone, farm.service.server.now()) == 0  # type: ignore[arg-type]
    farm.service.source.fault = Transient("no route")
    with pytest.raises(Transient, match="no route"):
        start(farm)
    assert progress(farm).ended_at is None


def test_a_committer_with_a_wrong_clock_does_not_leave_the_order(farm: Farm) -> None:
    source = farm.service.source
    late = farm.service.server.now() + timedelta(days=999)
    source.commits["c2"] = replace(source.commits["c2"], committed_at=late)
    ask(farm, 2)
    runs = []
    while start(farm):
        runs.append(measure(farm))
    moments = {run.revision: run.committed_at for run in runs if run.committed_at}
    assert moments["c2"] == moments["c3"] == farm.service.server.now()


def test_a_request_names_a_branch_that_was_measured_lately(farm: Farm) -> None:
    store = farm.service.store
    assert ask(farm, 5, project="gerrit~kv") == 1
    with store.transaction() as tx:
        [stored] = tx.backfills.waiting()
        start_run(tx.runs, tx.outbox, NewRun(RunKind.CHECK, None, "gerrit", "other", "master", "d"))
    assert (stored.backfill, stored.requested_by) == (Backfill("gerrit", "kv", "master", 5), OPERATOR)
    assert [each.kind for each in store.memory.audit] == [AuditKind.COMPARISON_REQUESTED]
    with pytest.raises(BadInput, match="choose of gerrit~kv, gerrit~other") as several:
        ask(farm, 5)
    assert several.value.where == "--project"
    with pytest.raises(BadInput, match="checked or measured rel of kv"):
        ask(farm, 5, project="kv", branch="rel")
