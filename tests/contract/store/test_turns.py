"""Store contract: the order in which machines claim builds of several owners."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.project.job_kinds import JobKind
from service.domain.review.change import Person
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.values.identity import RunKind
from tests.support.store_samples import change, check_run, named, post_submit_run, start

if TYPE_CHECKING:
    from service.ports.runs.builds import NewBuild
    from tests.contract.store.sites import StoreSite


def build_of(job: str, kind: RunKind = RunKind.CHECK) -> NewBuild:
    return named(job, sequence="", priority=0, spec={"kind": kind.value, "branch": "master"})


def push(site: StoreSite, number: int, account: str, longer: object = None) -> int:
    """A build of a person's change: of one who has a common name."""
    with site.store.transaction() as tx:
        pushed = replace(change(number), owner=Person("Ann", account=account))
        run = start(tx, check_run(tx.changes.upsert(pushed).patch_set_id, f"{number:040x}"))
        build = build_of("perf")
        return tx.builds.add(run, 0, replace(build, spec={**build.spec, "longer": longer}))


def merge(site: StoreSite) -> int:
    with site.store.transaction() as tx:
        return tx.builds.add(start(tx, post_submit_run()), 0, build_of("perf", RunKind.POST_SUBMIT))


def claims(site: StoreSite, count: int) -> list[int]:
    return [site.claim(f"perf-{machine}") for machine in range(count)]


def test_a_single_change_passes_all_but_the_first_of_another_persons_stack(site: StoreSite) -> None:
    first, second, third = (push(site, number, "1") for number in (1, 2, 3))
    single = push(site, 4, "2")
    assert claims(site, 4) == [first, single, second, third]


def test_builds_that_no_unfinished_run_waits_for_are_not_counted(site: StoreSite) -> None:
    former = push(site, 1, "1")
    with site.store.transaction() as tx:
        tx.runs.cancel_check(1)
    site.wait(1.0)
    other, again = push(site, 2, "2"), push(site, 3, "1")
    third = push(site, 4, "2")
    assert claims(site, 4) == [former, other, again, third]


def test_a_merged_commit_waits_for_the_checks_of_half_an_hour_but_not_for_later_ones(site: StoreSite) -> None:
    merged = merge(site)
    site.wait(1700.0)
    soon = push(site, 1, "1")
    site.wait(200.0)
    late = push(site, 2, "2")
    assert claims(site, 3) == [soon, merged, late]


@pytest.mark.parametrize("longer", [None, {"pairs": 60}])
def test_a_build_that_a_person_asks_for_again_passes_those_just_before_but_not_a_longer_one(
    site: StoreSite, longer: object
) -> None:
    old = push(site, 1, "1", longer)
    with site.store.transaction() as tx:
        tx.builds.finish(old, Outcome.FAILED, ["it fails"])
        tx.runs.end(1, RunState.FINISHED)
    new = push(site, 2, "2")
    with site.store.transaction() as tx:
        again = tx.builds.repeat(tx.builds.lock(old), None, 3600.0)
    assert claims(site, 2) == ([new, again] if longer else [again, new])


def test_builds_that_another_ci_runs_are_no_work_of_their_owner(site: StoreSite) -> None:
    with site.store.transaction() as tx:
        run = start(tx, check_run(tx.changes.upsert(change(1)).patch_set_id))
        tx.builds.add(run, 0, replace(build_of("elsewhere"), kind=JobKind("external")))
        mine = tx.builds.add(run, 1, build_of("perf"))
    other = push(site, 2, "2")
    assert claims(site, 2) == [mine, other]


def test_merged_commits_do_not_delay_the_checks_of_their_owner(site: StoreSite) -> None:
    with site.store.transaction() as tx:
        pushed = tx.changes.upsert(replace(change(1), owner=Person("Ann", account="1")))
        landed = start(tx, replace(check_run(pushed.patch_set_id), kind=RunKind.POST_SUBMIT))
        merged = tx.builds.add(landed, 0, build_of("perf", RunKind.POST_SUBMIT))
    mine, other = push(site, 2, "1"), push(site, 3, "2")
    assert claims(site, 3) == [mine, other, merged]
