"""Start runs: check a patch set, or measure a merged commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.values.identity import RunKind
from service.ports.runs.queue import Task
from service.ports.runs.runs import NewRun

if TYPE_CHECKING:
    from service.domain.review.change import Change
    from service.domain.verdict.calibration.schedule import BranchKey
    from service.ports.runs.decisions import Outbox
    from service.ports.runs.runs import Runs


def check_of(change: Change, patch_set_id: int) -> NewRun:
    """Make the check of a change's current patch set."""
    return run_of(change, RunKind.CHECK, patch_set_id, change.current.revision)


def run_of(change: Change, kind: RunKind, patch_set_id: int, revision: str) -> NewRun:
    """Make a run of the given kind on a revision of the change."""
    return NewRun(
        kind=kind,
        patch_set_id=patch_set_id,
        instance=change.key.instance,
        project=change.project,
        branch=change.branch,
        revision=revision,
        subject=change.subject,
        author=change.current.author.name or change.owner.name,
    )


def run_of_pool(
    kind: RunKind,
    key: BranchKey,
    revision: str,
    subject: str,
    parent: str | None = None,
    machine: str = "",
) -> NewRun:
    """Make a run of an idle pool on a commit of a branch; the others as in :class:`NewRun`."""
    return NewRun(
        kind=kind,
        patch_set_id=None,
        instance=key.instance,
        project=key.project,
        branch=key.branch,
        revision=revision,
        subject=subject,
        pool=key.pool,
        machine=machine,
        parent=parent,
    )


def start_run(runs: Runs, outbox: Outbox, run: NewRun) -> bool:
    """Store a run and queue its planning; return False if the same one exists."""
    run_id = runs.add(run)
    if run_id is not None:
        outbox.queue_task(Task.PLAN, run_id)
    return run_id is not None
