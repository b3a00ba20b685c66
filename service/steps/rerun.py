"""Runs builds of a revision again because a person or another CI asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.rounds import Place, failed_jobs, next_round
from service.domain.run import BuildState, RunState
from service.domain.vote import Ballot, Counts, Outcome
from service.steps.decide import outcome_of, rulings_on
from service.steps.plan_run import DEADLINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.commands import Recheck
    from service.domain.records import BuildRecord, RunRecord
    from service.ports import Transaction

NOTHING_FAILED: Final = "nothing failed; `recheck all` runs everything again"


def recheck(tx: Transaction, run: RunRecord, wanted: Recheck, heard_id: int) -> str:
    """Run builds of a running or finished round again; what to answer, empty where the runs themselves do.

    A build that is still on its way is left to arrive.
    """
    builds = tx.builds_of(run.id)
    finished = [build for build in builds if build.state is BuildState.FINISHED]
    targets = _targets(tx, run, finished, wanted)
    if not targets:
        return "it is still running" if len(finished) < len(builds) else NOTHING_FAILED
    run_again(tx, run, targets, heard_id)
    return ""


def run_again(
    tx: Transaction, run: RunRecord, jobs: Sequence[str], heard_id: int | None = None
) -> Sequence[int]:
    """Make new builds of jobs that have places in a running or finished round; these builds.

    In a finished round they open the next one, which reuses the other builds; in a running one they take
    the places of those that stood there.
    """
    builds = tx.builds_of(run.id)
    if run.state is RunState.FINISHED:
        return _next_round(tx, run, builds, jobs, heard_id)
    places = {build.job: (position, build) for position, build in enumerate(builds)}
    return [_put(tx, run.id, *places[job], heard_id) for job in dict.fromkeys(jobs)]


def _targets(
    tx: Transaction, run: RunRecord, finished: Sequence[BuildRecord], wanted: Recheck
) -> tuple[str, ...]:
    """The jobs to run again: those that were named, all that ran, or those that keep the round from a +1."""
    if wanted.jobs:
        there = {build.job for build in finished}
        return tuple(job for job in wanted.jobs if job in there)
    if wanted.is_all:
        return tuple(build.job for build in finished if build.outcome is not Outcome.NOT_BUILT)
    excused = rulings_on(tx, run, finished)
    counted = {
        build.job: outcome_of(build)
        for build, ruling in zip(finished, excused, strict=True)
        if Ballot(outcome_of(build), is_excused=ruling is not None).counts is not Counts.PASS
    }
    return failed_jobs(counted)


def _next_round(
    tx: Transaction, run: RunRecord, builds: Sequence[BuildRecord], jobs: Sequence[str], heard_id: int | None
) -> Sequence[int]:
    by_job = {build.job: build for build in builds}
    following = tx.follow_run(run, heard_id)
    made = []
    for position, place in enumerate(next_round([Place(each.job, each.id) for each in builds], jobs)):
        if place.build_id is not None:
            tx.take_build(following, position, place.build_id)
        else:
            made.append(_put(tx, following, position, by_job[place.job], heard_id))
    return made


def _put(tx: Transaction, run_id: int, position: int, build: BuildRecord, heard_id: int | None) -> int:
    again = tx.repeat_build(build, DEADLINE)
    tx.put_build(run_id, position, build.job, again, heard_id)
    if not build.is_external:  # its CI runs it without being told by us
        tx.queue_task("execute", again)
    return again
