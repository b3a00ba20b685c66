"""Contract of ``MachineReading``; tests of an adapter inherit it, and define a fixture ``site``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.runs.health import Step
from service.domain.runs.states import RunState
from tests.contract.reading.site import CHANGE

if TYPE_CHECKING:
    from tests.contract.reading.site import ReadingSite


class MachineReadingContract:
    def test_machines_come_by_pool_and_name_with_the_build_that_they_hold(self, site: ReadingSite) -> None:
        site.add_change()
        build = site.add_build(site.add_run(state=RunState.RUNNING), result=None)
        site.add_machine("perf-02", "perf")
        site.add_machine("quick", "also")
        site.add_machine("perf-01", "perf", holds=build)
        machines = site.reading.machines()
        assert [(machine.pool, machine.name, machine.build) for machine in machines] == [
            ("also", "quick", None),
            ("perf", "perf-01", build),
            ("perf", "perf-02", None),
        ]
        assert {(machine.machine_class, machine.obstacle) for machine in machines} == {("epyc", "")}
        assert [machine.host for machine in machines] == ["quick", "perf-01", "perf-02"]

    def test_an_empty_store_has_no_machines_and_no_voting_statuses(self, site: ReadingSite) -> None:
        assert list(site.reading.machines()) == []
        assert list(site.reading.voting_statuses(10)) == []

    def test_voting_statuses_come_by_machine_and_series(self, site: ReadingSite) -> None:
        for machine in ("perf-02", "perf-01"):
            site.add_machine(machine)
        for machine, benchmark in (("perf-02", "BM_a"), ("perf-01", "BM_b"), ("perf-01", "BM_a")):
            site.add_session(machine, benchmark)
        site.add_session("perf-01", "BM_a")
        statuses = site.reading.voting_statuses(10)
        ids = [site.add_series(benchmark) for benchmark in ("BM_a", "BM_b")]
        assert [(status.machine, status.series.id) for status in statuses] == [
            *(("perf-01", each) for each in sorted(ids)),
            ("perf-02", ids[0]),
        ]
        by_name = {(status.machine, status.series.benchmark): status.voting_status for status in statuses}
        assert {name: status.sessions for name, status in by_name.items()} == {
            ("perf-01", "BM_a"): 2,
            ("perf-01", "BM_b"): 1,
            ("perf-02", "BM_a"): 1,
        }

    def test_a_renamed_benchmark_also_has_the_sessions_of_its_former_name(self, site: ReadingSite) -> None:
        site.add_machine("perf-01")
        for benchmark in ("BM_old", "BM_old", "BM_new", "BM_before"):
            site.add_session("perf-01", benchmark)
        for older, newer in (("BM_old", "BM_new"), ("BM_before", "BM_unmeasured")):
            site.rename(site.add_series(older), site.add_series(newer))
        statuses = site.reading.voting_statuses(10)
        assert {each.series.benchmark: each.voting_status.sessions for each in statuses} == {
            "BM_old": 2,
            "BM_new": 3,
            "BM_before": 1,
            "BM_unmeasured": 1,
        }

    def test_voting_statuses_have_pages(self, site: ReadingSite) -> None:
        for machine in ("perf-01", "perf-02"):
            site.add_machine(machine)
            for benchmark in ("BM_a", "BM_b", "BM_c"):
                site.add_session(machine, benchmark)
        whole = list(site.reading.voting_statuses(10))
        assert list(site.reading.voting_statuses(2)) == whole[:2]
        ends = [(each.machine, each.series.id) for each in whole]
        pages = [list(site.reading.voting_statuses(2, end)) for end in ends]
        assert pages == [whole[1:3], whole[2:4], whole[3:5], whole[4:], whole[5:], []]
        assert list(site.reading.voting_statuses(2, ("perf-03", 1 << 70))) == []

    def test_voting_statuses_of_chosen_series_have_no_others(self, site: ReadingSite) -> None:
        site.add_machine("perf-01")
        for benchmark in ("BM_a", "BM_b"):
            site.add_session("perf-01", benchmark)
        wanted = site.add_series("BM_b")
        assert [each.series.id for each in site.reading.voting_statuses(9, series=[wanted])] == [wanted]
        assert list(site.reading.voting_statuses(9, series=[])) == []

    def test_the_condition_lists_what_failed_three_times(self, site: ReadingSite) -> None:
        site.add_change()
        run = site.add_run(state=RunState.PLANNING)
        site.fail_to_plan(run, 3)
        (failing,) = site.reading.condition().failing_steps
        assert (failing.step, failing.change, failing.attempts) == (Step.PLAN, str(CHANGE), 3)
        assert (failing.entity, failing.error, failing.is_dead) == (run, "no route", False)

    def test_the_condition_counts_the_waiting_builds_of_each_pool(self, site: ReadingSite) -> None:
        site.add_change()
        run = site.add_run(state=RunState.RUNNING)
        site.add_build(run)
        waiting = [site.add_build(run, result=None) for _ in range(2)]
        site.add_machine("quick", "other")
        condition = site.reading.condition()
        assert [(queue.pool, queue.waiting) for queue in condition.queues] == [("other", 0), ("perf", 2)]
        oldest = site.reading.build(waiting[0].job, waiting[0].number).build.created_at
        assert [queue.oldest_at for queue in condition.queues] == [None, oldest]
        assert [queue.machine_seen_at is None for queue in condition.queues] == [False, True]
