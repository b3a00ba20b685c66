from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.building.spec import BuildSpec
from service.domain.measuring.launch import ITSELF
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Permanent, Transient
from service.domain.values.identity import RunKind, SeriesKey
from service.domain.verdict.calibration.evidence import SESSION_PAIRS, Session
from service.domain.verdict.calibration.schedule import BETWEEN_REVIEWS, BranchKey, IdleJob
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.measured_causes import WITHOUT_HISTORY
from service.domain.wording.reasons import sentence
from service.steps.runs.calibrate import calibrate
from service.steps.runs.sweep import sweep
from tests.support.building.memory_source import MemorySource
from tests.support.memory.store import MemoryQueue
from tests.support.review.changes import PROJECT_FILE, Service, project
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from pathlib import Path

ON_PROBATION = PROJECT_FILE.replace("probation: off", "probation: 40")
BRANCH = BranchKey("perf", "gerrit", "kv", "master")
CONFIG = {"kind": "benchmark", "suites": [{"name": "bench", "program": "build/bench"}]}
JOB = IdleJob(BRANCH, "perf", CONFIG, since=None, pairs=0, sessions=0)


class PartlyAway(MemorySource):
    """A source in which one project's server does not answer."""

    def fetch(self, project: str, *refs: str) -> None:
        if project == "away":
            raise Transient("no route to host")
        super().fetch(project, *refs)


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    """A service with idle machines."""
    farm = Farm(tmp_path, Service(source=project(ON_PROBATION)))
    farm.service.store.memory.idle_jobs = [JOB]
    return farm


def start(farm: Farm) -> int:
    return calibrate(farm.service.store, farm.service.store, lambda _: farm.service.source)


def session(farm: Farm) -> None:
    """Run a whole calibration, from an idle machine to the end of its run."""
    memory = farm.service.store.memory
    assert start(farm) == 1
    run = len(memory.runs)
    farm.service.plan(run)
    build = len(memory.builds)
    farm.execute(build)
    farm.analyse(build)
    farm.service.vote(run)


class TestStarting:
    def test_an_idle_pool_measures_the_head_of_its_branch_against_itself(self, farm: Farm) -> None:
        assert start(farm) == 1
        farm.service.plan(1)
        memory = farm.service.store.memory
        (run,), (build,) = memory.runs, memory.builds
        spec = BuildSpec.from_mapping(build.spec)

        assert (run.kind, run.revision, run.pool) == (RunKind.CALIBRATION, "parent", "perf")
        assert spec.base == spec.patch
        assert (spec.patch.commit, spec.patch.trust) == ("parent", "reviewed")
        assert not build.is_voting
        assert memory.hints == [("plan", 1), ("execute", 1)]

    def test_a_pool_has_one_unfinished_calibration_at_most(self, farm: Farm) -> None:
        assert [start(farm), start(farm)] == [1, 0]
        assert len(farm.service.store.memory.runs) == 1

    def test_nothing_starts_if_nothing_is_due(self, farm: Farm) -> None:
        farm.service.store.memory.idle_jobs = [replace(JOB, since=60.0)]
        assert start(farm) == 0

    def test_a_missing_branch_is_skipped(self, farm: Farm) -> None:
        farm.service.store.memory.idle_jobs = [replace(JOB, branch=replace(BRANCH, branch="gone"))]
        assert start(farm) == 0

    def test_a_missing_branch_does_not_block_its_pools_next_branch(self, farm: Farm) -> None:
        gone = replace(JOB, branch=replace(BRANCH, branch="gone"))
        farm.service.store.memory.idle_jobs = [gone, replace(JOB, since=BETWEEN_REVIEWS)]

        assert start(farm) == 1
        assert [run.branch for run in farm.service.store.memory.runs] == ["master"]

    def test_a_project_that_cannot_be_fetched_does_not_block_others(self, tmp_path: Path) -> None:
        farm = Farm(tmp_path, Service(source=project(ON_PROBATION)))
        source = PartlyAway(farm.service.source.commits, farm.service.source.refs)
        away = replace(BRANCH, project="away")
        farm.service.store.memory.idle_jobs = [
            replace(JOB, branch=away),
            replace(JOB, branch=replace(away, pool="other")),
            replace(JOB, since=BETWEEN_REVIEWS),
        ]
        with pytest.raises(Transient):
            calibrate(farm.service.store, farm.service.store, lambda _: source)

        assert [(run.project, run.pool) for run in farm.service.store.memory.runs] == [("kv", "perf")]

    def test_a_branch_of_a_removed_review_server_is_skipped(self, farm: Farm) -> None:
        """A project of the same name on another server may be another project."""

        def source_of(instance: str) -> MemorySource:
            if instance == "removed":
                raise Permanent("the review server removed is not configured")
            return farm.service.source

        store = farm.service.store
        of_removed = replace(JOB, branch=replace(BRANCH, instance="removed"))
        store.memory.idle_jobs = [of_removed]
        assert calibrate(store, store, source_of) == 0
        assert farm.service.source.fetched == []

        store.memory.idle_jobs = [of_removed, replace(JOB, since=BETWEEN_REVIEWS)]
        assert calibrate(store, store, source_of) == 1
        assert [run.instance for run in store.memory.runs] == ["gerrit"]

    def test_each_idle_machine_gets_a_calibration_that_only_it_measures(self, farm: Farm) -> None:
        store = farm.service.store
        jobs = [replace(JOB, machine=name) for name in ("perf-01", "perf-02")]
        other = replace(JOB, machine="perf-01", branch=replace(BRANCH, branch="other"))
        store.memory.idle_jobs = [*jobs, other]
        assert start(farm) == 2
        farm.service.plan(1)
        farm.service.plan(2)
        waiting = [store.memory.waiting[build.id].for_machine for build in store.memory.builds]
        assert waiting == ["perf-01", "perf-02"]
        store.memory.idle_jobs = jobs
        assert start(farm) == 0

    def test_a_pool_measures_one_branch_at_a_time(self, farm: Farm) -> None:
        source = farm.service.source
        source.refs["refs/heads/other"] = source.refs["refs/heads/master"]
        other = replace(JOB, branch=replace(BRANCH, branch="other"))
        farm.service.store.memory.idle_jobs = [JOB, other]

        assert start(farm) == 1
        assert source.fetched == ["refs/heads/master"]

    @pytest.mark.parametrize(
        "text",
        [
            None,
            "version: 2",
            PROJECT_FILE,
            ON_PROBATION.replace("  perf:", "  renamed:"),
            ON_PROBATION.replace("kind: benchmark", "kind: benchmark\n    pool: other"),
        ],
        ids=["no file", "broken", "without probation", "renamed", "moved"],
    )
    def test_a_branch_that_needs_no_calibration_gets_no_run(self, tmp_path: Path, text: str | None) -> None:
        farm = Farm(tmp_path, Service(source=project(text)))
        farm.service.store.memory.idle_jobs = [JOB]

        assert start(farm) == 0
        assert farm.service.store.memory.runs == []

    def test_jobs_without_a_probation_are_not_built(self, tmp_path: Path) -> None:
        second = PROJECT_FILE.split("jobs:\n")[1].replace("  perf:", "  more:")
        farm = Farm(tmp_path, Service(source=project(ON_PROBATION + second)))
        farm.service.store.memory.idle_jobs = [JOB]
        start(farm)
        farm.service.plan(1)

        assert [build.job for build in farm.service.store.memory.builds] == ["perf"]


class TestSessions:
    def test_every_benchmark_gets_all_pairs_even_if_it_is_decided(self, farm: Farm) -> None:
        session(farm)
        memory = farm.service.store.memory

        assert len(memory.pairs[1]) == SESSION_PAIRS
        assert {len(result.samples) for result in memory.results[1].results} == {SESSION_PAIRS}
        assert {len(found.logs) for _, found in memory.evidence.values()} == {SESSION_PAIRS}
        assert {key.benchmark for key, _ in memory.evidence} == {"BM_a", "BM_b"}

    def test_it_ends_without_a_decision_a_vote_or_a_message(self, farm: Farm) -> None:
        session(farm)
        memory = farm.service.store.memory

        assert memory.runs[0].state is RunState.FINISHED
        assert memory.builds[0].outcome is Outcome.PASSED
        assert (
            memory.builds[0].causes[0]
            == "no false alarm in 2 comparisons of 20 pairs of a program with itself"
        )
        assert (memory.decisions, memory.reviews) == ([], {})

    def test_the_next_calibration_measures_again(self, farm: Farm) -> None:
        session(farm)
        session(farm)
        memory = farm.service.store.memory

        assert [build.sequence_id for build in memory.builds] == [1, 2]
        assert len(memory.evidence) == 4

    def test_a_calibration_ends_if_a_build_waits_for_its_machine(self, farm: Farm) -> None:
        start(farm)
        farm.service.plan(1)
        farm.service.store.claim()
        farm.review()
        sweep(farm.service.store, farm.service.store, MemoryQueue())
        calibration, check = farm.service.store.memory.builds

        assert (calibration.cancel_requested, check.cancel_requested) == (True, False)


def without_control(farm: Farm, build: int = 1) -> None:
    """Drop the pairs of the parent with itself, which a previous version does not measure."""
    pairs = farm.service.store.memory.pairs
    sequence = farm.service.store.memory.builds[build - 1].sequence_id
    assert sequence is not None
    pairs[sequence] = [each for each in pairs[sequence] if each.variant != ITSELF]


class TestProbation:
    def test_a_series_without_history_and_control_is_reported_and_does_not_vote(self, farm: Farm) -> None:
        farm.review()
        farm.execute()
        without_control(farm)
        farm.analyse()
        (build,) = farm.service.store.memory.builds

        assert build.outcome is Outcome.PASSED
        assert build.causes[0].startswith(
            "1 of 2 results is slower, not counted yet; worst: BM_a CPU time +10."
        )
        why = sentence(Reason(ReasonKind.ON_PROBATION, (0, 40, 0, 3)))
        assert build.causes[0].endswith(f"on perf-01; {why}")
        comparisons = farm.service.store.memory.results[1].comparisons
        stored = {comparison.series.benchmark: comparison for comparison in comparisons}
        assert stored["BM_a"].verdict == "slower"
        assert stored["BM_a"].reasons[-1] == Reason(ReasonKind.ON_PROBATION, (0, 40, 0, 3))

    def test_after_three_sessions_it_votes_without_a_control(self, farm: Farm) -> None:
        for _ in range(3):
            session(farm)
        farm.review()
        farm.execute(4)
        without_control(farm, 4)
        farm.analyse(4)
        build = farm.service.store.memory.builds[3]

        assert build.outcome is Outcome.SLOWER
        assert build.causes[0].startswith("1 of 2 results is slower; worst: BM_a")

    def test_a_series_with_false_alarms_is_suspended(self, farm: Farm) -> None:
        for _ in range(3):
            session(farm)
        key = SeriesKey("gerrit", "kv", "master", "perf", "perf", "bench", "BM_a", "cpu_time")
        for sequence in (1, 2):
            alarm = Session((0.1,) * SESSION_PAIRS, Verdict.SLOWER)
            farm.service.store.memory.evidence[key, sequence] = ("perf-01", alarm)
        farm.review()
        farm.execute(4)
        farm.analyse(4)

        cause = farm.service.store.memory.builds[3].causes[0]
        assert cause.endswith("suspended: 2 false alarms in the last 3 comparisons of a program with itself")

    def test_evidence_counts_only_on_its_own_machine(self, farm: Farm) -> None:
        for _ in range(3):
            session(farm)
        farm.review()
        farm.execute(4)
        without_control(farm, 4)
        farm.service.store.update(4, machine="perf-02")
        farm.analyse(4)

        cause = farm.service.store.memory.builds[3].causes[0]
        assert "on probation: this machine has no history for it (0 of 40 " in cause

    def test_without_probation_the_page_says_that_there_is_no_history(self, tmp_path: Path) -> None:
        farm = Farm(tmp_path)
        farm.review()
        farm.execute()
        farm.analyse()
        (build,) = farm.service.store.memory.builds

        assert build.outcome is Outcome.SLOWER
        assert build.notes == (WITHOUT_HISTORY,)
        assert WITHOUT_HISTORY not in build.causes


def test_a_patch_set_with_an_unchanged_program_is_evidence(tmp_path: Path) -> None:
    source = project(ON_PROBATION.replace("src/", "notes"))
    kept = source.commits["parent"].files
    source.commit("patch1", "parent", {**kept, "notes": "Nothing reads them."}, "refs/changes/07/7/1")
    farm = Farm(tmp_path, Service(source=source))
    farm.review()
    farm.execute()
    listings = farm.service.store.memory.listings
    listings[1] = [replace(each, is_same_program=True) for each in listings[1]]
    farm.analyse()

    assert {key.benchmark for key, _ in farm.service.store.memory.evidence} == {"BM_a", "BM_b"}
