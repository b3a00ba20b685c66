"""Plan a run: turn the target branch's project file into numbered builds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.domain.building.spec import BuildSpec
from service.domain.project.project_file import FILE_NAME, PlannedBuild, owners_of_paths, plan_builds
from service.domain.review.change import Review
from service.domain.runs.machine_report import BuildEnd
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput
from service.domain.values.identity import RunKind
from service.domain.values.text import literal, plain
from service.domain.verdict.calibration.schedule import is_anchored, is_calibrated
from service.domain.wording.build_causes import NO_MATCHING_FILES
from service.domain.wording.message import Header, compose
from service.domain.wording.outlook import LAST_RUNS, expected_duration
from service.ports.runs.builds import NewBuild
from service.ports.runs.queue import Task
from service.steps.project.read_project_file import NoProjectFile, read_project_file
from service.steps.runs.check_own_file import OwnFile, read_own_file
from service.steps.runs.choose_sides import choose_sides
from service.steps.runs.claims import keep_claims
from service.steps.runs.log_context import bind_run
from service.steps.runs.trust import is_allowed, reason_to_hold
from service.steps.sources.find_workspace import find_workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.project.job import Job
    from service.domain.project.job_kinds import JobKind
    from service.domain.project.project_file import ProjectFile
    from service.domain.sources.workspace import Workspace
    from service.ports.review.server import ReviewServer
    from service.ports.runs.builds import Builds
    from service.ports.runs.decisions import Outbox
    from service.ports.runs.history import RunHistory
    from service.ports.runs.runs import RunRecord
    from service.ports.sources import Source
    from service.ports.store import Store, Transaction
    from service.steps.runs.choose_sides import ChosenSides

# Only idle machines take the kinds after the first two.
_PRIORITY: Final = {
    RunKind.CHECK: 0,
    RunKind.POST_SUBMIT: 0,  # its turn is later
    RunKind.CALIBRATION: 2,
    RunKind.LONGER: 3,
    RunKind.ANCHOR: 4,
}
# After it, Benchgate must report on the change that the build failed. A machine's first claim begins it anew.
DEADLINE: Final = 24 * 3600.0
QUEUED_AT_MOST: Final = 7 * 24 * 3600.0


def plan_run(store: Store, server: ReviewServer, source: Source, run_id: int, run_url: str) -> None:
    """Plan a run, unless it is already planned or cancelled. ``run_url`` is the address of its page."""
    with store.transaction() as tx:
        run = tx.runs.lock(run_id)
    bind_run(run)
    if run.state is not RunState.PLANNING:
        return
    source.fetch(run.project, f"refs/heads/{run.branch}", run.ref or run.revision)
    try:
        plan = _plan(store, server, source, run)
    except NoProjectFile as error:
        _refuse(store, run, error.what, run_url, is_posted=False)
        return
    except BadInput as error:  # also a project file that is not text, or far too large
        _refuse(store, run, str(error), run_url)
        return
    trusted = plan.project_file.commands.trusted if run.kind is RunKind.CHECK else None
    if trusted and (reason := reason_to_hold(store, server, run, plan.sides.own.base, trusted)):
        _refuse(store, run, reason, run_url, is_held=True)
        return
    plan = replace(plan, claimed_names=keep_claims(store, source, run))
    with store.transaction() as tx:
        if tx.runs.lock(run.id).state is not RunState.PLANNING:
            return
        merged_as = _merged_as(run, plan)
        if merged_as and tx.runs.give_to_change(run, merged_as):
            tx.runs.end(run.id, RunState.CANCELLED)
            return
        _store(tx, run, plan, merged_as)
        _announce(tx.history, tx.outbox, run, plan, run_url)


def _merged_as(run: RunRecord, plan: _Plan) -> str:
    """Return the merge commit that brought a change to its branch, or nothing for any other run."""
    commit = plan.sides.own.patch.commit
    return commit if run.kind is RunKind.POST_SUBMIT and commit != run.revision else ""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The revisions that a run compares, and its builds."""

    project_file: ProjectFile
    sides: ChosenSides
    builds: tuple[PlannedBuild, ...]
    paths: Sequence[str] = ()  # that the run's commit changed
    own_file: OwnFile | None = None  # if the patch set changes the project file
    renaming: frozenset[str] = frozenset()  # that file renames benchmarks of these jobs
    workspace: Workspace | None = None  # of the builds, if the project has several repositories
    claimed_names: tuple[str, ...] = ()  # benchmarks, by the commit message

    @property
    def voters(self) -> int:
        """Number of builds that share the patch set's error budget: benchmark jobs that can vote."""
        return sum(build.is_needed and build.job.voting and build.job.compares for build in self.builds)


def _plan(store: Store, server: ReviewServer, source: Source, run: RunRecord) -> _Plan:
    project_file = of_branch = read_project_file(source, run.project, run.branch)
    sides = choose_sides(store, server, source, run)
    base, patch = sides.own.base, sides.own.patch
    own_file, paths = None, None
    if run.kind is RunKind.CALIBRATION:
        builds = tuple(each for each in plan_builds(project_file, None) if is_calibrated(each.job, run.pool))
    else:
        paths = source.changed_paths(run.project, base.commit, patch.commit) if base else None
        if run.kind is RunKind.CHECK and (paths is None or FILE_NAME in paths):
            parent = base.commit if base else None
            project_file, own_file = read_own_file(source, run.project, parent, patch.commit, project_file)
        builds = tuple(
            replace(each, is_needed=each.is_needed or sides.concern(each.job))
            for each in plan_builds(project_file, paths)
            if run.kind is not RunKind.ANCHOR or is_anchored(each.job, run.pool)
        )
    pairs = zip(project_file.jobs, of_branch.jobs, strict=True)
    renaming = frozenset(job.name for job, known in pairs if job.source != known.source)
    needed = [each.job for each in builds if each.is_needed]
    workspace = find_workspace(source, run.project, run.branch, of_branch.manifest, needed)
    return _Plan(project_file, sides, builds, paths or (), own_file, renaming, workspace)


def _store(tx: Transaction, run: RunRecord, plan: _Plan, merged_as: str) -> None:
    base, patch = plan.sides.own.base, plan.sides.own.patch
    tx.runs.start(
        run.id,
        tree=patch.tree,
        parent=base.commit if base else None,
        parent_tree=base.tree if base else None,
        label=plan.project_file.label,
        merged_as=merged_as,
    )
    session = run.id if run.kind is RunKind.CALIBRATION else 0

    def spec_of(job: Job) -> BuildSpec:
        sides = plan.sides.of(job)
        return BuildSpec(
            run.kind,
            run.instance,
            run.project,
            run.branch,
            sides.base,
            sides.patch,
            job,
            plan.voters,
            session,
            commands=plan.project_file.commands,
            is_renaming=job.name in plan.renaming,
            workspace=plan.workspace if job.builds else None,
            conflict=sides.conflict,
            path_owners=owners_of_paths(job, plan.paths) if run.kind is RunKind.POST_SUBMIT else (),
            claimed_names=plan.claimed_names if job.unfiltered else (),
        )

    waits = False
    for position, build in enumerate(plan.builds):
        waits |= _place(tx.builds, tx.outbox, run, position, spec_of(build.job), is_needed=build.is_needed)
    if own := plan.own_file:
        new = new_build(spec_of(own.job), own.end)
        tx.measurements.store_findings(tx.builds.add(run.id, len(plan.builds), new), own.findings)
    if not waits:
        tx.outbox.queue_task(Task.VOTE, run.id)


def _place(
    builds: Builds, outbox: Outbox, run: RunRecord, position: int, spec: BuildSpec, *, is_needed: bool
) -> bool:
    """Adopt or queue the build at a position of the run; return whether the run must wait for it.

    A build of another CI waits for its result, and no machine executes it. It belongs to one run, unless its
    job reuses the results of equal trees.
    """
    ended = BuildEnd(Outcome.MISCONFIGURED, (spec.job.problem,)) if spec.job.problem else None
    if not is_needed:
        ended = BuildEnd(Outcome.NOT_BUILT, (NO_MATCHING_FILES,))
    if ended is None and run.kind is RunKind.CHECK and spec.shared_sequence:
        adopted = builds.adopt(run, position, spec.shared_sequence, DEADLINE, QUEUED_AT_MOST)
        if adopted is not None:
            return adopted.state is not BuildState.FINISHED
    new = replace(new_build(spec, ended), for_machine=run.machine)
    build_id = builds.add(run.id, position, new)
    if ended is None and not spec.job.kind.is_external:
        outbox.queue_task(Task.EXECUTE, build_id)
    return ended is None


def deadline_of(kind: JobKind) -> float:
    """Return after how many seconds a build that no machine claims ends; a machine's claim sets another."""
    return DEADLINE if kind.is_external else QUEUED_AT_MOST


def new_build(spec: BuildSpec, ended: BuildEnd | None = None) -> NewBuild:
    """Make a build of a run; ``ended``: it ends without being executed."""
    kind = spec.job.kind
    return NewBuild(
        job=spec.job.name,
        kind=kind,
        pool=spec.job.pool,
        priority=_PRIORITY[spec.kind],
        is_voting=spec.job.voting and not spec.kind.is_for_idle_pools,
        spec=spec.to_mapping(),
        sequence="" if spec.job.problem else spec.shared_sequence,
        # Nobody waits for those of idle pools: they are started anew.
        deadline_seconds=DEADLINE if spec.kind.is_for_idle_pools else deadline_of(kind),
        is_exclusive=spec.job.compares,
        outcome=ended.outcome if ended else None,
        causes=ended.causes if ended else (),
    )


def _announce(history: RunHistory, outbox: Outbox, run: RunRecord, plan: _Plan, run_url: str) -> None:
    """Post the start of a merged change's builds on the change, because no vote will show them."""
    if run.kind is not RunKind.POST_SUBMIT or run.change is None:
        return
    if any(build.is_needed for build in plan.builds):
        outlook = expected_duration(history.last_durations(run, LAST_RUNS), run.branch)
        started = "\n\n".join(filter(None, (f"{Header.STARTED} {run_url}", outlook)))
        outbox.queue_review(f"run/{run.id}/started", Review(run.change, run.revision, started))


def _refuse(
    store: Store, run: RunRecord, reason: str, run_url: str, *, is_posted: bool = True, is_held: bool = False
) -> None:
    """End a run that is still to be planned; ``is_held``: unless somebody allowed it in the meantime."""
    with store.transaction() as tx:
        if tx.runs.lock(run.id).state is not RunState.PLANNING:
            return
        if is_held and is_allowed(tx.overrides, run):
            tx.outbox.queue_task(Task.PLAN, run.id)
        else:
            refuse(tx, run, reason, run_url, header=Header.NOT_EXECUTED, is_posted=is_posted)


def refuse(
    tx: Transaction, run: RunRecord, reason: str, run_url: str, *, header: Header, is_posted: bool = True
) -> None:
    """End a run that cannot be planned, and post the reason on the change, without a vote."""
    tx.runs.end(run.id, RunState.REFUSED, reason)
    if is_posted and run.change is not None and run.kind is RunKind.CHECK:
        message = compose(header, (), run_url, ends=[literal(plain(reason, 2000))])
        tx.outbox.queue_review(f"run/{run.id}/refused", Review(run.change, run.revision, message))
