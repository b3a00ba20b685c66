"""Turns a run into numbered builds, by the project file of the target branch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.calibration import is_calibrated
from service.domain.errors import BadInput
from service.domain.identity import RunKind
from service.domain.message import compose
from service.domain.plan import PlannedBuild, plan_builds
from service.domain.project_file import ProjectFile, parse_project_file
from service.domain.records import NewBuild, QueuedReview, RunRecord
from service.domain.run import BuildState, RunState
from service.domain.spec import BuildSpec, Revision
from service.domain.text import plain
from service.domain.vote import Outcome

if TYPE_CHECKING:
    from service.ports import Source, Store, Transaction

PROJECT_FILE: Final = "benchgate.yaml"
# A person waits for a check; nobody waits for the others.
_PRIORITY: Final = {RunKind.CHECK: 0, RunKind.POST_SUBMIT: 1, RunKind.CALIBRATION: 2}
# Waiting for a machine included; beyond, the change should hear that nothing came of it.
_DEADLINE: Final = 24 * 3600.0


def plan_run(store: Store, source: Source, run_id: int, run_url: str) -> None:
    """Plan a run that is still to be planned; any other run is left alone.

    ``run_url`` is where the run's page will be.
    """
    with store.transaction() as tx:
        run = tx.lock_run(run_id)
    if run.state is not RunState.PLANNING:
        return
    branch_ref = f"refs/heads/{run.branch}"
    source.fetch(run.project, branch_ref, run.ref or run.revision)
    try:
        text = source.read(run.project, branch_ref, PROJECT_FILE)
        if text is None:
            _refuse(store, run, f"there is no {PROJECT_FILE} on branch {run.branch}", run_url, is_told=False)
            return
        project_file = parse_project_file(text)
        base, patch = _revisions(source, run)
        planned = _plan(source, run, project_file, base, patch)
    except BadInput as error:  # also a project file that is no text, or far too large
        _refuse(store, run, str(error), run_url, is_told=True)
        return
    _store(store, run, project_file, planned, base, patch)


def _plan(
    source: Source, run: RunRecord, project_file: ProjectFile, base: Revision | None, patch: Revision
) -> tuple[PlannedBuild, ...]:
    if run.kind is RunKind.CALIBRATION:
        planned = plan_builds(project_file, None)
        return tuple(each for each in planned if is_calibrated(each.job, run.pool))
    paths = source.changed_paths(run.project, base.commit, patch.commit) if base else None
    return plan_builds(project_file, paths)


def _revisions(source: Source, run: RunRecord) -> tuple[Revision | None, Revision]:
    def revision(commit: str, ref: str, trust: str) -> Revision:
        return Revision(commit, source.tree(run.project, commit), ref, trust)

    is_check = run.kind is RunKind.CHECK
    ref = run.ref if is_check and run.ref else f"refs/heads/{run.branch}"
    patch = revision(run.revision, ref, "unreviewed" if is_check else "reviewed")
    if run.kind is RunKind.CALIBRATION:
        return patch, patch
    parent = source.parent(run.project, run.revision)
    if parent is None:
        return None, patch
    # A parent that is itself under review must not serve as one that was reviewed.
    is_merged = source.is_merged(run.project, parent, run.branch)
    # The patch set's own ref brings its parents along.
    return revision(parent, ref, "reviewed" if is_merged else "unreviewed"), patch


def _store(
    store: Store,
    run: RunRecord,
    project_file: ProjectFile,
    planned: tuple[PlannedBuild, ...],
    base: Revision | None,
    patch: Revision,
) -> None:
    with store.transaction() as tx:
        if tx.lock_run(run.id).state is not RunState.PLANNING:
            return
        tx.start_run(
            run.id,
            tree=patch.tree,
            parent=base.commit if base else None,
            parent_tree=base.tree if base else None,
            label=project_file.label,
        )
        has_work = False
        jobs = sum(each.is_needed and each.job.voting for each in planned)
        session = run.id if run.kind is RunKind.CALIBRATION else 0
        for position, each in enumerate(planned):
            spec = BuildSpec(
                run.kind, run.instance, run.project, run.branch, base, patch, each.job, jobs, session
            )
            adopted = tx.adopt_build(run.id, position, spec.sequence) if each.is_needed else None
            if adopted is not None:
                has_work |= adopted.state is not BuildState.FINISHED
                continue
            build_id = tx.add_build(run.id, position, _build(spec, is_needed=each.is_needed))
            if each.is_needed:
                has_work = True
                tx.queue_task("execute", build_id)
        if not has_work:
            tx.queue_task("vote", run.id)


def _build(spec: BuildSpec, *, is_needed: bool) -> NewBuild:
    return NewBuild(
        job=spec.job.name,
        kind=spec.job.kind,
        pool=spec.job.pool,
        priority=_PRIORITY[spec.kind],
        is_voting=spec.job.voting and spec.kind is not RunKind.CALIBRATION,
        spec=spec.to_mapping(),
        sequence=spec.sequence,
        deadline_seconds=_DEADLINE,
        outcome=None if is_needed else Outcome.NOT_BUILT,
        causes=() if is_needed else ("none of its paths is touched",),
    )


def _refuse(store: Store, run: RunRecord, reason: str, run_url: str, *, is_told: bool) -> None:
    with store.transaction() as tx:
        if tx.lock_run(run.id).state is RunState.PLANNING:
            refuse(tx, run, reason, run_url, header="No Builds Executed", is_told=is_told)


def refuse(
    tx: Transaction, run: RunRecord, reason: str, run_url: str, *, header: str, is_told: bool = True
) -> None:
    """End a run that cannot be planned; the change is told why, without a vote."""
    tx.end_run(run.id, RunState.REFUSED, reason)
    if is_told and run.change is not None and run.kind is RunKind.CHECK:
        message = compose(header, (), f"{plain(reason, 2000)}\n\n{run_url}")
        tx.queue_review(f"run/{run.id}/refused", QueuedReview(run.change, run.revision, message, run_url))
