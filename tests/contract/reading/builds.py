"""Contract of ``BuildReading``; tests of an adapter inherit it, and define a fixture ``site``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.measuring.metric import Better
from service.domain.project.job_kinds import JobKind
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Result
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.domain.verdict.explanation.assembly import Assembly, CodeRow
from service.domain.verdict.explanation.explanation import Explanation, Stack, pack
from service.domain.verdict.inference.verdict import Verdict
from service.ports.runs.shown import UNREADABLE, ExplainedBuild
from tests.contract.reading.site import CHANGE, measure

if TYPE_CHECKING:
    from tests.contract.reading.site import ReadingSite

NASTY = "BM_<img src=x>'; DROP TABLE series; --%_\\"


class BuildReadingContract:
    def test_a_build_has_the_explanations_that_its_machine_reported(self, site: ReadingSite) -> None:
        site.add_change()
        name, other = (measure(site, 1, "BM_a") for _ in range(2))
        code = Assembly(NASTY, (CodeRow(None, NASTY, 0.0, 1.0, NASTY, 1),))
        found = Explanation("s", NASTY, stacks=(Stack((NASTY,), 1.0, 1.1),), assembly=code)
        site.explain(name, pack([found, found]))
        build, plain = (site.reading.build(each.job, each.number).build.id for each in (name, other))
        brief = replace(found, stacks=(), assembly=Assembly(NASTY))
        assert site.reading.explanations(build) == ExplainedBuild((brief, brief))
        assert site.reading.explanations(build, 2) == ExplainedBuild((brief, found))
        assert site.reading.explanations(plain) == ExplainedBuild()

    def test_a_damaged_explanation_is_a_problem_and_no_error(self, site: ReadingSite) -> None:
        site.add_change()
        name = measure(site, 1, "BM_a")
        site.explain(name, pack([Explanation("s", "BM_a")])[9:])
        found = site.reading.explanations(site.reading.build(name.job, name.number).build.id)
        assert found == ExplainedBuild(problem=UNREADABLE)

    def test_unfinished_builds_come_in_the_order_of_the_queue_in_pages(self, site: ReadingSite) -> None:
        site.add_change()
        run = site.add_run(state=RunState.RUNNING)
        names = [site.add_build(run, result=None) for _ in range(3)]
        site.add_build(run)
        whole = list(site.reading.unfinished_builds(9))
        assert [(each.job, each.number, each.place) for each in whole] == [
            (name.job, name.number, place) for place, name in enumerate(names, 1)
        ]
        assert whole[1].waits == "2nd in the queue of pool perf; no machine of this pool has registered"
        assert list(site.reading.unfinished_builds(2)) == whole[:2]
        assert list(site.reading.unfinished_builds(2, 2)) == whole[2:]
        assert list(site.reading.unfinished_builds(2, 1 << 70)) == []

    def test_each_pool_has_its_own_next_builds(self, site: ReadingSite) -> None:
        site.add_change()
        run = site.add_run(state=RunState.RUNNING)
        names = [site.add_build(run, result=None, pool=pool) for pool in ("perf", "lint", "perf", "perf")]
        found = site.reading.queued_builds(2)
        order = [(names[1], "lint", 1), (names[0], "perf", 1), (names[2], "perf", 2)]
        assert [(each.number, each.pool, each.place) for each in found] == [
            (name.number, pool, place) for name, pool, place in order
        ]

    def test_a_run_has_its_builds_in_their_order_and_its_decisions_newest_first(
        self, site: ReadingSite
    ) -> None:
        site.add_change(patch_sets=2)
        run = site.add_run(2)
        first, second = site.add_build(run, "one", "two"), site.add_build(run, result=Result.FAILURE)
        site.decide(run, -1)
        site.decide(run, 1)
        found = site.reading.run(run)
        assert (found.run.id, found.run.kind, found.run.state) == (run, RunKind.CHECK, RunState.FINISHED)
        assert (found.run.change, found.run.patch_set) == (CHANGE, 2)
        assert [(build.job, build.number) for build in found.builds] == [
            (first.job, first.number),
            (second.job, second.number),
        ]
        assert [(build.causes, build.result) for build in found.builds] == [
            (("one", "two"), Result.SUCCESS),
            ((), Result.FAILURE),
        ]
        assert [decision.vote for decision in found.decisions] == [1, -1]

    def test_a_build_has_the_runs_it_is_part_of(self, site: ReadingSite) -> None:
        site.add_change()
        run = site.add_run(state=RunState.RUNNING)
        name = site.add_build(run, result=None)
        found = site.reading.build(name.job, name.number)
        assert [(each.id, each.change, each.patch_set) for each in found.runs] == [(run, CHANGE, 1)]
        assert (found.build.state, found.build.result) == (BuildState.QUEUED, None)
        assert JobKind(found.build.kind).may_compare
        assert found.build.compares

    def test_a_build_has_no_log_before_a_machine_writes_one(self, site: ReadingSite) -> None:
        site.add_change()
        name = site.add_build(site.add_run(state=RunState.RUNNING), result=None)
        log = site.reading.log(name.job, name.number)
        assert (log.parts, log.size, log.is_growing) == ((), 0, True)
        with pytest.raises(NotFound):
            site.reading.log(name.job, 999)

    def test_a_log_has_its_chunks_and_the_rest_of_its_end(self, site: ReadingSite) -> None:
        site.add_change()
        name = site.add_build(site.add_run(), result=Result.SUCCESS)
        site.add_log(name, [(0, b"one\n"), (4, b"two\n"), (100, b"tail\n")], (102, b"il\nnew\nend"))
        log = site.reading.log(name.job, name.number)
        assert [(part.start, part.line, part.size, part.data) for part in log.parts] == [
            (0, 0, 4, b""),
            (4, 1, 4, b""),
            (100, 2, 5, b""),
            (105, 3, 7, b"new\nend"),
        ]
        assert all(part.artifact for part in log.parts[:3])
        assert not log.is_growing

    def test_comparisons_keep_their_order(self, site: ReadingSite) -> None:
        site.add_change()
        name = measure(site, 1, "BM_two", NASTY, "BM_one")
        build = site.reading.build(name.job, name.number).build
        rows = site.reading.comparisons(build.id, build.created_at)
        assert [row.benchmark for row in rows] == ["BM_two", NASTY, "BM_one"]
        assert {(row.verdict, row.unit, row.better) for row in rows} == {
            (Verdict.SLOWER, "1/s", Better.HIGHER)
        }

    def test_undecided_rows_that_more_pairs_may_decide_are_marked(self, site: ReadingSite) -> None:
        site.add_change()
        run = site.add_run()
        names = [
            site.add_build(run, benchmarks=("BM_one",), verdict=verdict)
            for verdict in (Verdict.UNDECIDED, Verdict.SLOWER)
        ]
        for name, marks in zip(names, ([True], [False]), strict=True):
            build = site.reading.build(name.job, name.number).build
            rows = site.reading.comparisons(build.id, build.created_at)
            assert [row.needs_pairs for row in rows] == marks

    def test_a_build_without_comparisons_has_none(self, site: ReadingSite) -> None:
        site.add_change()
        name = measure(site, 1)
        build = site.reading.build(name.job, name.number).build
        assert list(site.reading.comparisons(build.id, build.created_at)) == []
        assert list(site.reading.comparisons(build.id + 1, build.created_at)) == []

    def test_samples_are_those_of_both_sides_of_one_comparison(self, site: ReadingSite) -> None:
        site.add_change()
        name = measure(site, 1, "BM_one", NASTY)
        build = site.reading.build(name.job, name.number).build
        _, row = site.reading.comparisons(build.id, build.created_at)
        samples = site.reading.samples(build.id, build.created_at, row.series_id)
        assert (samples.series_id, samples.suite, samples.benchmark, samples.metric) == (
            *(row.series_id, row.suite),
            *(NASTY, row.metric),
        )
        assert (samples.unit, samples.better) == (row.unit, row.better)
        assert len(samples.base) == len(samples.patch) > 0
        assert None in samples.base

    def test_a_run_build_or_series_that_does_not_exist_is_not_found(self, site: ReadingSite) -> None:
        site.add_change()
        name = measure(site, 1, "BM_one")
        build = site.reading.build(name.job, name.number).build
        (row,) = site.reading.comparisons(build.id, build.created_at)
        for unknown in (
            lambda: site.reading.run(build.id + 99),
            lambda: site.reading.run(1 << 70),
            lambda: site.reading.build("other", name.number),
            lambda: site.reading.build(name.job, name.number + 1),
            lambda: site.reading.build(name.job, 1 << 40),
            lambda: site.reading.build("a\0b", 1),
            lambda: site.reading.build("a\ud800b", 1),
            lambda: site.reading.build("a\nb", 1),
            lambda: site.reading.samples(build.id, build.created_at, row.series_id + 1),
            lambda: site.reading.samples(build.id, build.created_at, 1 << 70),
            lambda: site.reading.samples(build.id + 1, build.created_at, row.series_id),
        ):
            with pytest.raises(NotFound):
                unknown()
