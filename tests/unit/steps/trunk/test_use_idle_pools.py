"""Use idle pools: measure undecided commits longer, and anchors, to the end of their runs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.building.spec import BuildSpec, MorePairs
from service.domain.review.change import ChangeStatus
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.notice import Channel
from service.domain.trunk.regression import GateSaid, RegressionState
from service.domain.trunk.undecided import MOST_TRIES
from service.domain.values.errors import Permanent, Transient
from service.domain.values.identity import RunKind, SeriesKey
from service.domain.verdict.calibration.evidence import SESSION_PAIRS
from service.domain.verdict.calibration.schedule import BranchKey, IdleJob
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.runs.runs import NewRun
from service.ports.verdict import StoredPair
from service.steps.runs.new_run import start_run
from service.steps.runs.plan_run import DEADLINE
from service.steps.trunk.use_idle_pools import use_idle_pools
from tests.support.building.memory_source import CODE, code
from tests.support.review.changes import PROJECT_FILE, Service, change_at, project
from tests.support.runs.finished import Farm
from tests.support.store_samples import compared

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
    return use_idle_pools(store, store, lambda _: farm.service.source, farm.service.server.now())


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


def test_what_only_an_idle_pool_takes_waits_for_a_day(farm: Farm) -> None:
    assert start(farm) == 1
    store = farm.service.store
    farm.service.plan(len(store.memory.runs))
    store.wait(DEADLINE)
    assert store.overdue_builds() == [store.memory.builds[-1].id]


def test_the_pool_rests_before_the_next_one(farm: Farm) -> None:
    assert [start(farm), start(farm)] == [1, 0]
    memory = farm.service.store.memory
    farm.service.plan(len(memory.runs))
    farm.execute(len(memory.builds))
    farm.analyse(len(memory.builds))
    farm.service.vote(len(memory.runs))
    assert (start(farm), memory.runs[-1].kind) == (1, RunKind.LONGER), "it is slower"
    memory.runs[-1] = replace(memory.runs[-1], state=RunState.FINISHED)
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

    assert use_idle_pools(store, store, gone, farm.service.server.now()) == 0  # type: ignore[arg-type]
    farm.service.source.fault = Transient("no route")
    with pytest.raises(Transient, match="no route"):
        start(farm)


@pytest.fixture
def undecided(tmp_path: Path) -> Farm:
    """A merged change whose benchmark seems to be 4 % slower; 32 pairs were too few to be certain."""
    farm = Farm(tmp_path)
    farm.service.see(change_at(1, status=ChangeStatus.MERGED, merged_as="patch1"))
    farm.service.source.refs["refs/heads/master"] = "patch1"
    farm.service.plan()
    compare(farm, Verdict.UNDECIDED, 32, more=40.0)
    farm.service.store.memory.idle_jobs = [JOB]
    return farm


def compare(farm: Farm, verdict: Verdict, pairs: int, more: float = 0.0) -> None:
    """The last build and its run end with this result."""
    service, memory = farm.service, farm.service.store.memory
    build = memory.builds[-1]
    assert build.sequence_id is not None
    memory.pairs[build.sequence_id] = [StoredPair(pair, f"artifact {pair}") for pair in range(pairs)]
    series = SeriesKey("gerrit", "kv", "master", "perf", "perf", "bench", "BM_a", "cpu_time")
    reasons = [Reason(ReasonKind.MORE_PAIRS, (more, 300.0, 0.0, 0.0))] if more else []
    row = replace(compared(series, verdict, *reasons, pairs=pairs), ratio=1.04)
    with service.store.transaction() as tx:
        tx.measurements.store_results(build, RunKind.LONGER, {series: ("s", "lower")}, [], [row])
    outcome = Outcome.SLOWER if verdict is Verdict.SLOWER else Outcome.PASSED
    service.store.update(build.id, state=BuildState.FINISHED, outcome=outcome)
    service.vote(len(memory.runs))


def test_an_undecided_merged_commit_is_measured_longer_until_it_is_decided(undecided: Farm) -> None:
    memory = undecided.service.store.memory
    posted = len(memory.reviews)
    for pairs, more in ((80, 20.0), (100, 0.0)):  # looks of the schedule
        assert start(undecided) == 1
        assert start(undecided) == 0, "the pool measures"
        run, build = memory.runs[-1], memory.builds[-1]
        assert (run.kind, run.previous_id, run.patch_set_id) == (RunKind.LONGER, 1, None)
        assert BuildSpec.from_mapping(build.spec).longer == MorePairs("BM_a", pairs)
        assert build.sequence_id == memory.builds[0].sequence_id, "its pairs go on"
        assert not build.is_voting
        assert (memory.regressions, memory.notices) == ([], {}), "nothing is news yet"
        compare(undecided, Verdict.UNDECIDED if more else Verdict.SLOWER, pairs, more)

    [found] = memory.regressions
    assert (found.run_id, found.state) == (1, RegressionState.UNTRIAGED)
    assert {each.channel for _, each in memory.notices} == {Channel.CHAT, Channel.CHANGE}
    assert (len(memory.reviews), len(memory.decisions)) == (posted, 1)
    assert start(undecided) == 0


def test_a_commit_that_cannot_be_built_any_more_is_tried_a_few_times(undecided: Farm) -> None:
    service, memory = undecided.service, undecided.service.store.memory
    for _ in range(MOST_TRIES):
        assert start(undecided) == 1
        service.store.update(len(memory.builds), state=BuildState.FINISHED, outcome=Outcome.BROKEN)
        service.vote(len(memory.runs))
    assert start(undecided) == 0
    assert service.runs(RunKind.POST_SUBMIT) == [("patch1", RunState.FINISHED)]


@pytest.mark.parametrize(
    "spec",
    [
        {"base": None},  # a root commit
        {"config": {"kind": "benchmark"}},  # stored by another version
    ],
)
def test_what_cannot_be_measured_any_more_keeps_nothing_else_from_it(
    undecided: Farm, spec: dict[str, Any]
) -> None:
    memory = undecided.service.store.memory
    memory.builds[0] = replace(memory.builds[0], spec={**memory.builds[0].spec, **spec})
    assert (start(undecided), len(memory.runs)) == (0, 1)


def test_from_the_merge_to_the_notice_with_real_pairs(tmp_path: Path) -> None:
    """A benchmark gets 4 % slower on a noisy machine, and 14 pairs are too few to be certain."""
    source = project(PROJECT_FILE.replace("layout: off", "layout: off, max_pairs: 14"))
    for name, seconds in (("parent", 1e-6), ("patch1", 1.04e-6)):
        noisy = json.dumps({**json.loads(code(BM_a=seconds)), "spread": 0.04})
        source.commits[name] = replace(
            source.commits[name], files={**source.commits[name].files, CODE: noisy}
        )
    farm = Farm(tmp_path, Service(source=source))
    farm.service.see(change_at(1, status=ChangeStatus.MERGED, merged_as="patch1"))
    source.refs["refs/heads/master"] = "patch1"
    farm.service.plan()
    memory = farm.service.store.memory
    memory.idle_jobs = [JOB]
    ends: list[tuple[RunKind, Verdict, int]] = []
    while not ends or start(farm):
        farm.execute(len(memory.builds))
        farm.analyse(len(memory.builds))
        farm.service.vote(len(memory.runs))
        [row] = memory.results[len(memory.builds)].comparisons
        ends.append((memory.runs[-1].kind, row.verdict, row.pairs))

    assert ends == [
        (RunKind.POST_SUBMIT, Verdict.UNDECIDED, 14),
        (RunKind.LONGER, Verdict.SLOWER, 32),
    ]
    assert [each.run_id for each in memory.regressions] == [1]
    assert len(memory.notices) == 2


def test_commits_that_are_slower_together_are_a_regression_of_all_of_them(farm: Farm) -> None:
    """Each is 1 % slower than the one before: no rule finds that in a single one."""
    service, memory = farm.service, farm.service.store.memory
    for number in range(7 * WEEKS):
        memory.runs[number] = replace(memory.runs[number], state=RunState.FINISHED)
    kinds = []
    for _ in range(2):
        assert start(farm) == 1
        if memory.runs[-1].kind is RunKind.ANCHOR:
            service.plan(len(memory.runs))
        farm.execute(len(memory.builds))
        farm.analyse(len(memory.builds))
        service.vote(len(memory.runs))
        kinds.append(memory.runs[-1].kind)

    anchor, again = memory.runs[-2:]
    assert kinds == [RunKind.ANCHOR, RunKind.LONGER]
    assert (again.previous_id, again.parent, again.revision) == (anchor.id, anchor.parent, anchor.revision)
    [found] = memory.regressions
    assert found.run_id == anchor.id
    [(result, said)] = found.results
    assert (result.benchmark, said) == ("BM_a", GateSaid.SPREAD)
    assert [each.channel for _, each in memory.notices] == [Channel.CHAT]
    assert start(farm) == 1
    narrowing = memory.runs[-1]
    assert (narrowing.kind, narrowing.previous_id) == (RunKind.ANCHOR, anchor.id), (
        "the next one is hours away"
    )
