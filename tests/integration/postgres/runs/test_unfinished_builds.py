"""Say on every page what a build waits for that has not ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.runs.states import RunState
from service.domain.values.identity import ChangeAddress, RunKind
from tests.contract.reading.seen_by import Person
from tests.integration.postgres.site import PostgresSite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.reading import Reading
    from service.ports.runs.shown import Build
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.fixture
def site(database: Database) -> PostgresSite:
    return PostgresSite(database)


def test_an_obstacle_keeps_a_machine_from_exclusive_builds_only(site: PostgresSite) -> None:
    site.add_change()
    name = site.add_build(site.add_run(state=RunState.RUNNING), result=None)
    site.add_machine("perf-01")
    site.database.change("UPDATE machine SET obstacle = 'other work takes 100 % of its CPUs'")
    why = "; perf-01 takes no benchmarks: other work takes 100 % of its CPUs"
    queue = "1st in the queue of pool perf"
    assert site.reading.build(name.job, name.number).build.waits == queue + why
    site.database.change("UPDATE build SET is_exclusive = false")
    assert site.reading.build(name.job, name.number).build.waits == queue
    site.database.change("UPDATE machine SET last_seen_at = now() - interval '2 minutes'")
    silent = "no machine of this pool has reported for a minute"
    assert site.reading.build(name.job, name.number).build.waits == f"{queue}; {silent}"


def test_what_runs_comes_before_the_queue_and_what_is_to_end_is_left_out(site: PostgresSite) -> None:
    site.add_change()
    run = site.add_run(state=RunState.RUNNING)
    for _ in range(5):
        site.add_build(run, result=None)
    site.database.change("UPDATE build SET state = 'running' WHERE number = 3")
    site.database.change("UPDATE build SET cancel_requested = true WHERE number = 1")
    site.database.change("UPDATE build SET priority = 0 WHERE number = 5")
    site.database.change("UPDATE build SET state = 'running', kind = 'external' WHERE number = 2")
    found = site.reading.unfinished_builds(9)
    assert [(each.number, each.place) for each in found] == [(3, None), (5, 1), (4, 2)]


def waits_of(reading: Reading, number: int) -> set[str]:
    """Collect what the pages of a build's pool, run, change and its own say of a build that waits."""
    detail = reading.build("perf", number)
    [run] = detail.runs
    lists: list[Sequence[Build]] = [reading.unfinished_builds(9), reading.run(run.id).builds]
    lists.append(reading.patch_set(ChangeAddress(run.change or 0)).builds)
    shown = [each for builds in lists for each in builds if each.number == number]
    return {each.waits for each in (detail.build, *shown)}


def test_every_page_counts_the_same_queued_builds_of_an_owner_and_no_hidden_ones(site: PostgresSite) -> None:
    for number in range(1, 6):
        site.add_change(number)
        site.add_build(site.add_run(change=number, state=RunState.RUNNING), result=None)
    site.add_machine("perf-01")
    site.database.change("UPDATE build SET queued_for = 'review~1' WHERE number <> 4")
    site.database.change("UPDATE build SET state = 'running' WHERE number = 1")
    site.hide(2)
    assert waits_of(site.reading, 5) == {"4th in the queue of pool perf, after 2 of its owner"}
    assert waits_of(site.reading.seen_by(None), 5) == {"4th in the queue of pool perf, after 1 of its owner"}
    assert waits_of(site.reading, 4) == {"3rd in the queue of pool perf"}


def test_checks_go_before_a_merged_commit_until_its_turn(site: PostgresSite) -> None:
    site.add_change()
    name = site.add_build(site.add_run(kind=RunKind.POST_SUBMIT, state=RunState.RUNNING), result=None)
    site.add_machine("perf-01")
    site.database.change("UPDATE build SET spec = spec || jsonb_build_object('kind', 'post-submit')")
    change = "UPDATE build SET turn = now() + :ahead * interval '1 minute'"
    said = []
    for ahead in (10, -10):
        site.database.change(change, ahead=ahead)
        said.append(site.reading.build(name.job, name.number).build.waits)
    queue = "1st in the queue of pool perf"
    assert said == [f"{queue}; checks that come within its first 30 minutes go first", queue]


def test_a_viewer_sees_the_front_of_a_queue_of_more_changes_than_one_question_holds(
    site: PostgresSite,
) -> None:
    numbers = range(1, 102)
    for number in numbers:
        site.add_change(number)
        site.hide(number)
        site.add_build(site.add_run(change=number, state=RunState.RUNNING), result=None)
    found = site.reading.seen_by(Person(numbers)).unfinished_builds(200)
    assert [each.place for each in found] == [*range(1, 101)]
