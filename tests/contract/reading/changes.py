"""Contract of ``ChangeReading``; tests of an adapter inherit it, and define a fixture ``site``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.review.change_search import parse_change_search
from service.domain.runs.states import RunState
from service.domain.runs.vote import Result
from service.domain.values.errors import Ambiguous, NotFound
from service.domain.values.identity import ChangeAddress, RunKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.review.shown import Cursor
from service.ports.runs.shown import Standing, Tally
from tests.contract.reading.site import ADDRESS, CHANGE, OTHER_PARENT, PARENT, measure

if TYPE_CHECKING:
    from tests.contract.reading.site import ReadingSite


class ChangeReadingContract:
    def test_an_empty_store_has_no_changes(self, site: ReadingSite) -> None:
        assert list(site.reading.changes(10)) == []

    def test_a_change_has_the_vote_and_the_worst_cause_of_its_newest_patch_set(
        self, site: ReadingSite
    ) -> None:
        site.add_change(patch_sets=2)
        site.decide(site.add_run(1), -1)
        run = site.add_run(2)
        site.add_build(run, "all the same")
        site.add_build(run, "2 of 20 slower", "more", result=Result.FAILURE)
        site.decide(run, -1)
        site.decide(run, 1)
        (change,) = site.reading.changes(10)
        assert (change.number, change.patch_set, change.vote, change.header) == (CHANGE, 2, 1, "Build Failed")
        assert (change.run_id, change.run_state, change.cause) == (run, RunState.FINISHED, "2 of 20 slower")
        assert (change.builds, change.finished_builds) == (2, 2)

    def test_a_change_without_a_run_has_no_vote(self, site: ReadingSite) -> None:
        site.add_change()
        (change,) = site.reading.changes(10)
        assert (change.run_id, change.run_state, change.vote, change.header, change.cause) == (
            *(None, None, None),
            *("", ""),
        )

    def test_a_change_shows_what_failed_three_times_with_error_and_next_try(self, site: ReadingSite) -> None:
        site.add_change()
        site.fail_to_plan(site.add_run(state=RunState.PLANNING), 3)
        (problem,) = site.reading.patch_set(ADDRESS).problems
        assert problem == "Planning change 7 failed 3 times: no route. Next try at 12:00:00 UTC."

    def test_a_change_shows_nothing_that_failed_twice(self, site: ReadingSite) -> None:
        site.add_change()
        site.fail_to_plan(site.add_run(state=RunState.PLANNING), 2)
        assert site.reading.patch_set(ADDRESS).problems == ()

    def test_an_unfinished_build_is_counted(self, site: ReadingSite) -> None:
        site.add_change()
        run = site.add_run(state=RunState.RUNNING)
        site.add_build(run)
        site.add_build(run, result=None)
        (change,) = site.reading.changes(10)
        assert (change.run_state, change.builds, change.finished_builds) == (RunState.RUNNING, 2, 1)

    def test_undecided_results_of_the_newest_run_are_counted(self, site: ReadingSite) -> None:
        site.add_change(patch_sets=2)
        site.add_build(site.add_run(1), benchmarks=("BM_a",), verdict=Verdict.UNDECIDED)
        assert [change.undecided for change in site.reading.changes(5)] == [0]
        run = site.add_run(2)
        site.add_build(run, benchmarks=("BM_a", "BM_b"), verdict=Verdict.UNDECIDED)
        site.add_build(run, benchmarks=("BM_c",), verdict=Verdict.UNDECIDED)
        site.add_build(run, benchmarks=("BM_d",))
        assert [change.undecided for change in site.reading.changes(5)] == [3]
        assert [patch_set.undecided for patch_set in site.reading.change(ADDRESS).patch_sets] == [1, 3]
        assert [build.undecided for build in site.reading.run(run).builds] == [2, 1, 0]

    def test_a_run_after_the_merge_does_not_change_the_vote(self, site: ReadingSite) -> None:
        site.add_change()
        site.decide(site.add_run(), 1)
        site.decide(site.add_run(kind=RunKind.POST_SUBMIT), None)
        assert [change.vote for change in site.reading.changes(5)] == [1]
        assert [patch_set.vote for patch_set in site.reading.change(ADDRESS).patch_sets] == [1]
        assert site.reading.patch_set(ADDRESS).patch_set.vote == 1

    def test_changes_have_pages_even_if_times_are_equal(self, site: ReadingSite) -> None:
        for number, minutes in ((1, 5), (2, 5), (3, 5), (4, 9), (5, 1)):
            site.add_change(number, minutes=minutes)
        seen: list[int] = []
        after: Cursor | None = None
        while page := site.reading.changes(2, after):
            seen += [change.number for change in page]
            after = Cursor.decode(Cursor(page[-1].updated_at, page[-1].id).encode())
        assert seen == [4, 3, 2, 1, 5]

    @pytest.mark.parametrize(
        ("search", "numbers"),
        [("", [2, 1]), ("1", [1]), ("-2", [1]), ("%", []), ("nobody", [])],
    )
    def test_words_are_searched_in_subject_project_branch_owner_and_number(
        self, site: ReadingSite, search: str, numbers: list[int]
    ) -> None:
        for number in (1, 2):
            site.add_change(number, minutes=number)
        words = parse_change_search(search)
        assert [change.number for change in site.reading.changes(5, None, words)] == numbers
        (first, *_) = site.reading.changes(5)
        names = parse_change_search(f"{first.project} {first.branch} {first.owner} {first.subject}".upper())
        assert first in site.reading.changes(5, None, names)

    def test_operators_find_changes_by_vote_state_and_name(self, site: ReadingSite) -> None:
        for number in (1, 2, 3):
            site.add_change(number, minutes=number)
        site.decide(site.add_run(change=1), -1)
        waits = site.add_run(change=2, state=RunState.RUNNING)
        site.add_build(waits, result=None)
        first = site.reading.changes(5)[0]

        def found(search: str, *names: str) -> list[int]:
            rows = site.reading.changes(5, None, parse_change_search(search, names))
            return [change.number for change in rows]

        assert (found("vote:-1"), found("-vote:-1"), found("vote:none is:open")) == ([1], [3, 2], [3, 2])
        assert (found("is:waiting"), found("is:merged"), found("vote:+1")) == ([2], [], [])
        assert found(f'owner:"{first.owner[1:].upper()}" {first.subject.split()[0]}') == [3, 2, 1]
        assert found(f"project:{first.project} branch:{first.branch}") == [3, 2, 1]
        assert found(f"project:{first.project[1:]}") == []
        assert (found("is:mine", first.owner.upper()), found("is:mine", "%")) == ([3, 2, 1], [])

    def test_only_the_newest_patch_set_is_searched_for_its_vote(self, site: ReadingSite) -> None:
        site.add_change(patch_sets=2)
        site.decide(site.add_run(1), -1)
        assert list(site.reading.changes(5, None, parse_change_search("vote:-1"))) == []

    def test_a_change_has_its_patch_sets_oldest_first(self, site: ReadingSite) -> None:
        site.add_change(patch_sets=3)
        found = site.reading.change(ADDRESS)
        assert found.change.patch_set == 3
        assert [patch_set.number for patch_set in found.patch_sets] == [1, 2, 3]
        assert found.patch_sets[-1].revision == found.change.revision
        assert site.reading.patch_set(ADDRESS, 2).patch_sets == found.patch_sets

    def test_one_servers_changes_have_their_number_as_address(self, site: ReadingSite) -> None:
        site.add_change(instance="core")
        run = site.add_run()
        for address in (ADDRESS, ChangeAddress(CHANGE, "core")):
            assert site.reading.change(address).change.address == "7"
        assert site.reading.run(run).run.change_address == "7"
        with pytest.raises(NotFound):
            site.reading.change(ChangeAddress(CHANGE, "edge"))

    def test_two_servers_changes_have_addresses_with_the_server(self, site: ReadingSite) -> None:
        site.add_change(instance="core", patch_sets=2)
        run = site.add_run(2)
        site.add_change(8, instance="edge")
        assert {change.address for change in site.reading.changes(9)} == {"core~7", "edge~8"}
        assert site.reading.run(run).run.change_address == "core~7"
        assert [run.change_address for run in site.reading.patch_set(ADDRESS).runs] == ["core~7"]
        assert site.reading.change(ChangeAddress(8)).change.instance == "edge"

    def test_a_failed_step_names_the_change_with_its_server(self, site: ReadingSite) -> None:
        site.add_change(instance="core")
        site.add_change(8, instance="edge")
        site.fail_to_plan(site.add_run(state=RunState.PLANNING), 3)
        (problem,) = site.reading.patch_set(ADDRESS).problems
        assert problem.startswith("Planning change core~7 failed 3 times: ")
        assert [failing.change for failing in site.reading.condition().failing_steps] == ["core~7"]

    def test_a_number_that_two_servers_have_is_ambiguous(self, site: ReadingSite) -> None:
        site.add_change(minutes=1, instance="edge")
        site.add_change(minutes=0, instance="core", patch_sets=2)
        for ask in (
            lambda: site.reading.change(ADDRESS),
            lambda: site.reading.patch_set(ADDRESS),
            lambda: site.reading.measured_patch_sets(ADDRESS, 9),
        ):
            with pytest.raises(Ambiguous, match="have a change 7: core~7, edge~7") as caught:
                ask()
            assert caught.value.choices == ("core~7", "edge~7")
        for instance, patch_set in (("core", 2), ("edge", 1)):
            address = ChangeAddress(CHANGE, instance)
            assert site.reading.change(address).change.instance == instance
            assert site.reading.patch_set(address).patch_set.number == patch_set
            assert site.reading.measured_patch_sets(address, 9).older == 0

    def test_the_run_after_the_merge_leads_a_change(self, site: ReadingSite) -> None:
        site.add_change()
        check = site.add_run()
        site.add_build(check, "same", benchmarks=("BM_a", "BM_b"), verdict=Verdict.SAME)
        site.decide(check, 1)
        (before,) = site.reading.changes(5)
        assert (before.run_id, before.run_kind, before.cause) == (check, RunKind.CHECK, "same")
        assert before.standing == Standing(
            kind=RunKind.CHECK, state=RunState.FINISHED, vote=1, result=Result.SUCCESS, tally=Tally(results=2)
        )
        merged = site.add_run(kind=RunKind.POST_SUBMIT)
        site.add_build(merged, "slower", result=Result.FAILURE, benchmarks=("BM_a",))
        site.decide(merged, None)
        (after,) = site.reading.changes(5)
        assert (after.run_id, after.run_kind, after.cause) == (merged, RunKind.POST_SUBMIT, "slower")
        assert (after.vote, after.standing.vote, after.standing.result) == (1, 1, Result.FAILURE)
        assert after.standing.tally == Tally(results=1, slower=1, worst=0.9)
        detail = site.reading.patch_set(ADDRESS)
        assert [build.causes for build in detail.builds] == [("slower",)]
        assert detail.patch_set.standing == detail.change.standing == after.standing

    @pytest.mark.parametrize(
        ("kind", "state", "leads"),
        [
            (RunKind.CHECK, RunState.CANCELLED, True),
            (RunKind.POST_SUBMIT, RunState.CANCELLED, False),
            (RunKind.POST_SUBMIT, RunState.REFUSED, False),
            (RunKind.CHECK, RunState.REFUSED, True),
            (RunKind.POST_SUBMIT, RunState.RUNNING, True),
        ],
    )
    def test_a_run_after_the_merge_that_was_given_up_does_not_hide_the_check(
        self, site: ReadingSite, kind: RunKind, state: RunState, *, leads: bool
    ) -> None:
        site.add_change()
        first = site.add_run()
        site.add_build(first, "first")
        later = site.add_run(kind=kind, state=state)
        (change,) = site.reading.changes(5)
        assert change.run_id == (later if leads else first)
        shown = [build.causes for build in site.reading.patch_set(ADDRESS).builds]
        assert shown == ([] if leads else [("first",)])

    def test_a_queued_build_has_its_place_in_the_queue(self, site: ReadingSite) -> None:
        site.add_change()
        run = site.add_run(state=RunState.RUNNING)
        names = [site.add_build(run, result=None) for _ in range(2)]
        assert [site.reading.build(name.job, name.number).build.place for name in names] == [1, 2]
        assert [build.place for build in site.reading.run(run).builds] == [1, 2]
        (change,) = site.reading.changes(5)
        assert (change.standing.state, change.standing.place) == (RunState.RUNNING, 1)

    def test_a_queued_build_says_what_keeps_its_machines_from_it(self, site: ReadingSite) -> None:
        site.add_change()
        run = site.add_run(state=RunState.RUNNING)
        first, second = (site.add_build(run, result=None) for _ in range(2))
        queue = "2nd in the queue of pool perf"

        def waits() -> str:
            return site.reading.build(second.job, second.number).build.waits

        assert waits() == f"{queue}; no machine of this pool has registered"
        site.add_machine("other", "linux")
        site.add_machine("perf-01", holds=first)
        assert waits() == f"{queue}; perf-01 is busy"
        site.add_machine("perf-02")
        assert waits() == queue

    def test_a_patch_set_has_decisions_runs_and_the_builds_of_its_newest_run(self, site: ReadingSite) -> None:
        site.add_change(patch_sets=2)
        first, second = site.add_run(1), site.add_run(1)
        site.add_build(first, "old", result=Result.FAILURE)
        site.add_build(second, "new")
        third = site.add_run(1, kind=RunKind.POST_SUBMIT)
        site.add_build(third, "merged")
        site.decide(first, -1)
        site.decide(second, 1)
        found = site.reading.patch_set(ADDRESS, 1)
        assert [build.causes for build in found.builds] == [("merged",)]
        assert [(decision.run_id, decision.vote) for decision in found.decisions] == [
            (second, 1),
            (first, -1),
        ]
        assert [run.id for run in found.runs] == [third, second, first]
        assert found.patch_set.vote == 1
        assert (found.change.patch_set, found.change.vote) == (2, None)

    def test_the_newest_patch_set_is_the_default(self, site: ReadingSite) -> None:
        site.add_change(patch_sets=2)
        assert site.reading.patch_set(ADDRESS).patch_set.number == 2

    def test_a_change_or_patch_set_that_does_not_exist_is_not_found(self, site: ReadingSite) -> None:
        site.add_change()
        for number in (CHANGE + 1, 1 << 40):
            with pytest.raises(NotFound):
                site.reading.change(ChangeAddress(number))
            with pytest.raises(NotFound):
                site.reading.patch_set(ChangeAddress(number))
            with pytest.raises(NotFound):
                site.reading.patch_set(ADDRESS, number)
            with pytest.raises(NotFound):
                site.reading.measured_patch_sets(ChangeAddress(number), 9)


class MeasuredPatchSetsContract:
    def numbers(self, site: ReadingSite, limit: int = 9, before: int | None = None) -> tuple[list[int], int]:
        found = site.reading.measured_patch_sets(ADDRESS, limit, before)
        return [patch_set.number for patch_set in found.patch_sets], found.older

    def test_patch_sets_come_newest_first_with_their_own_parent(self, site: ReadingSite) -> None:
        site.add_change(patch_sets=2)
        measure(site, 1, "BM_b", "BM_a")
        measure(site, 2, "BM_b", parent=OTHER_PARENT)
        newer, older = site.reading.measured_patch_sets(ADDRESS, 9).patch_sets
        assert (newer.number, newer.parent, older.number, older.parent) == (2, OTHER_PARENT, 1, PARENT)
        assert [[row.benchmark for row in build.comparisons] for build in older.builds] == [["BM_b", "BM_a"]]
        assert newer.builds[0].number != older.builds[0].number
        assert newer.run_id > older.run_id

    def test_a_comparison_is_the_one_that_its_build_shows(self, site: ReadingSite) -> None:
        site.add_change()
        measure(site, 1, "BM_a")
        (measured,) = site.reading.measured_patch_sets(ADDRESS, 9).patch_sets
        (shown,) = site.reading.patch_set(ADDRESS, 1).builds
        assert (measured.builds[0].job, measured.builds[0].number) == (shown.job, shown.number)
        rows = site.reading.comparisons(shown.id, shown.created_at)
        assert list(measured.builds[0].comparisons) == list(rows)

    def test_older_patch_sets_are_counted_and_are_on_later_pages(self, site: ReadingSite) -> None:
        site.add_change(patch_sets=5)
        for number in range(1, 6):
            measure(site, number, "BM_a")
        assert self.numbers(site, 2) == ([5, 4], 3)
        assert self.numbers(site, 2, before=4) == ([3, 2], 1)
        assert self.numbers(site, 2, before=2) == ([1], 0)
        assert self.numbers(site, 2, before=1 << 70) == ([5, 4], 3)

    def test_a_patch_set_without_comparisons_is_left_out(self, site: ReadingSite) -> None:
        site.add_change(patch_sets=2)
        measure(site, 1, "BM_a")
        measure(site, 2)
        assert self.numbers(site) == ([1], 0)

    def test_a_newer_run_replaces_the_older_only_once_it_has_comparisons(self, site: ReadingSite) -> None:
        site.add_change()
        measure(site, 1, "BM_old")
        measure(site, 1)
        (found,) = site.reading.measured_patch_sets(ADDRESS, 9).patch_sets
        assert [row.benchmark for row in found.builds[0].comparisons] == ["BM_old"]
        measure(site, 1, "BM_new")
        (found,) = site.reading.measured_patch_sets(ADDRESS, 9).patch_sets
        assert [row.benchmark for row in found.builds[0].comparisons] == ["BM_new"]

    def test_a_run_after_the_merge_is_left_out(self, site: ReadingSite) -> None:
        site.add_change()
        measure(site, 1, "BM_a", kind=RunKind.POST_SUBMIT)
        assert self.numbers(site) == ([], 0)
