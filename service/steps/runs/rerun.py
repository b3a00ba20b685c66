"""Rerun builds of a revision because a person or another CI requested it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from service.domain.building.spec import BuildSpec
from service.domain.measuring.launch import SECOND
from service.domain.project.own_renames import with_renames_of
from service.domain.review.comment_commands import OverrideCommand
from service.domain.review.form_commands import line_of
from service.domain.runs.overrides import active_overrides
from service.domain.runs.reruns import Place, failed_jobs, next_run, rerun_in
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Ballot, Counts, Outcome
from service.domain.wording.replies import (
    FAILED_ELSEWHERE,
    NOTHING_FAILED,
    ONLY_ELSEWHERE,
    STILL_RUNNING,
    nothing_built,
    nothing_to_measure,
    override_dropped,
)
from service.ports.runs.queue import Task
from service.steps.runs.decide_run import outcome_of, waivers_on
from service.steps.runs.plan_run import deadline_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.project.job import Job
    from service.domain.project.project_file import ProjectFile
    from service.domain.review.comment_commands import RecheckCommand
    from service.domain.sources.workspace import Workspace
    from service.ports.runs.builds import BuildRecord, Builds
    from service.ports.runs.decisions import Outbox, Overrides
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Transaction
    from service.ports.verdict import Measurements

# Pairs decide these. A build with another outcome failed earlier, and may not fail again.
_MEASURED: Final = frozenset(
    {Outcome.PASSED, Outcome.UNDECIDED, Outcome.SLOWER, Outcome.BROKEN, Outcome.REMOVED}
)


def recheck(
    tx: Transaction,
    run: RunRecord,
    wanted: RecheckCommand,
    comment_id: int,
    project_file: ProjectFile,
    workspace: Workspace | None = None,
) -> str:
    """Run builds of a running or finished run again, and return the reply.

    Unfinished builds go on. New builds use the current configuration in ``project_file``. If that is
    unchanged, they continue the pairs of the last builds: slow-downs that vote −1 get a second opinion, one
    for each sequence. A build that measured nothing gets the other repositories as they are now, in
    ``workspace``. The reply is empty if new builds were started that have something to measure, and no
    override covered the old ones.
    """
    builds = tx.builds.of_run(run.id)
    finished = [build for build in builds if build.state is BuildState.FINISHED]
    targets = _targets(tx, run, finished, wanted)
    if not targets:
        return _reason_without_targets(builds, finished, wanted)
    by_job = {build.job: build for build in builds}
    configured = {job.name: job for job in project_file.jobs}
    specs = {
        job: _as_configured(tx.measurements, by_job[job], configured.get(job), workspace) for job in targets
    }
    problems = {job: spec.job.problem for job, spec in specs.items() if spec is not None and spec.job.problem}
    if len(problems) == len(targets):
        return problems[targets[0]]
    again = {job: spec for job, spec in specs.items() if job not in problems}
    replies = [
        _nothing_to_measure(tx.measurements, by_job[job]) for job, spec in again.items() if spec is None
    ]
    replies.append(_dropped(tx.overrides, run, [by_job[job] for job in again]))
    run_again(tx, run, again, comment_id)
    return "; ".join(filter(None, replies))


def _dropped(stored: Overrides, run: RunRecord, builds: Sequence[BuildRecord]) -> str:
    """Say how to repeat the overrides of builds that run again; empty without one."""
    made = stored.of(run.patch_set_id) if run.patch_set_id is not None else ()
    newest_first = active_overrides(made, run.revision)[::-1]
    lines = []
    for build in builds:
        newest = next((each for each in newest_first if build.id in each.builds), None)
        if newest is not None:
            lines.append(line_of(OverrideCommand(newest.bug, newest.reason, build.job)))
    return override_dropped(lines) if lines else ""


def _reason_without_targets(
    builds: Sequence[BuildRecord], finished: Sequence[BuildRecord], wanted: RecheckCommand
) -> str:
    if len(finished) < len(builds):
        return STILL_RUNNING
    if all(build.outcome is Outcome.NOT_BUILT for build in finished):
        return nothing_built([build.job for build in finished])
    if wanted.is_all:
        return ONLY_ELSEWHERE
    is_elsewhere = any(build.is_external and build.outcome is Outcome.FAILED for build in finished)
    return FAILED_ELSEWHERE if is_elsewhere else NOTHING_FAILED


def run_again(
    tx: Transaction, run: RunRecord, jobs: Mapping[str, BuildSpec | None], comment_id: int | None = None
) -> Sequence[int]:
    """Make new builds of jobs in a running or finished run, and return their IDs.

    ``jobs`` maps each job to its new spec; None: the spec of its last build. After a finished run, the new
    builds form the next run together with the other builds; in a running run they replace the old builds.
    """
    builds = tx.builds.of_run(run.id)
    by_job = {build.job: build for build in builds}
    # In the order of their names, so that two concurrent reruns of the same jobs cannot deadlock.
    new = {job: _repeat(tx.builds, tx.outbox, by_job[job], jobs[job]) for job in sorted(jobs)}
    if run.state is RunState.FINISHED:
        run_id = tx.runs.follow(run, comment_id)
        places = next_run([Place(build.job, build.id) for build in builds], [*jobs])
    else:
        run_id = run.id
        places = rerun_in([Place(build.job, build.id) for build in builds], jobs)
    for position, place in enumerate(places):
        if place.build_id is None:
            tx.builds.put(run_id, position, place.job, new[place.job], comment_id)
        elif place.is_reused:
            tx.builds.take(run_id, position, place.build_id)
    return [new[job] for job in jobs]


def _targets(
    tx: Transaction, run: RunRecord, finished: Sequence[BuildRecord], wanted: RecheckCommand
) -> tuple[str, ...]:
    """List the jobs to run again: the named jobs, all jobs, or those that prevent a +1."""
    if wanted.jobs:
        there = {build.job for build in finished}
        return tuple(job for job in wanted.jobs if job in there)
    # Only the other CI can run its builds again. Naming such a job here means that it does.
    ours = [build for build in finished if not build.is_external]
    if wanted.is_all:
        return tuple(build.job for build in ours if build.outcome is not Outcome.NOT_BUILT)
    waived_by = waivers_on(tx.failures, tx.overrides, run, ours)
    counted = {
        build.job: outcome_of(build)
        for build, waiver in zip(ours, waived_by, strict=True)
        if Ballot(outcome_of(build), is_waived=waiver is not None).counts is not Counts.PASS
    }
    return failed_jobs(counted)


def _as_configured(
    stored: Measurements, build: BuildRecord, job: Job | None, workspace: Workspace | None
) -> BuildSpec | None:
    """Make the spec with the job's current configuration and without extra pairs; None: no difference.

    If the configuration is unchanged, a build that is slower gets its second opinion. A patch set that
    renames benchmarks by its own project file goes on doing so.
    """
    spec = BuildSpec.from_mapping(build.spec)
    if job is not None and spec.is_renaming:
        job = with_renames_of(job, spec.job)
    was_planned = build.sequence_id is not None or build.is_external
    is_alike = job is not None and (job.kind == spec.job.kind or not was_planned)
    if job is not None and is_alike and job.config_hash != spec.job.config_hash:
        newest = workspace if job.builds else None
        return replace(spec, job=job, longer=None, second=False, workspace=newest)
    if job is not None and job.builds and workspace != spec.workspace and build.outcome not in _MEASURED:
        return replace(spec, longer=None, second=False, workspace=workspace)
    if build.outcome is Outcome.SLOWER and build.sequence_id is not None:
        pairs = stored.stored_pairs(build.sequence_id)
        if pairs and all(pair.variant != SECOND for pair in pairs):
            return replace(spec, longer=None, second=True)
    return None if was_planned and not spec.longer else replace(spec, longer=None)


def _nothing_to_measure(stored: Measurements, build: BuildRecord) -> str:
    """Say that a completely measured build measures nothing again; empty if it may."""
    if build.sequence_id is None or build.outcome not in _MEASURED:
        return ""
    undecided = len(stored.unresolved_benchmarks(build.id))
    listed = {
        (each.suite, name)
        for each in stored.listings(build.sequence_id)
        for name in (*each.patch, *each.base)
    }
    return nothing_to_measure(build.job, len(listed) - undecided, undecided) if listed else ""


def _repeat(builds: Builds, outbox: Outbox, build: BuildRecord, spec: BuildSpec | None) -> int:
    kind = build.kind if spec is None else spec.job.kind
    build_id = builds.repeat(build, spec, deadline_of(kind))
    if not kind.is_external:  # the other CI starts its own builds
        outbox.queue_task(Task.EXECUTE, build_id)
    return build_id
