"""Gives pools with nothing to do a branch to measure against itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.calibration import ASKED_WITHIN, next_calibrations
from service.domain.errors import NotFound
from service.domain.identity import RunKind
from service.domain.records import NewRun

if TYPE_CHECKING:
    from service.domain.calibration import BranchKey
    from service.ports import Source, Store, Upkeep


def calibrate(store: Store, upkeep: Upkeep, source: Source) -> int:
    """Start a calibration in every idle pool that is due one; how many were started.

    A pool that has one unfinished gets no second one. A branch that is gone is left alone.
    """
    started = 0
    for branch in next_calibrations(upkeep.idle_jobs(ASKED_WITHIN)):
        head = _head(source, branch)
        if head is not None:
            started += _start(store, branch, head)
    return started


def _head(source: Source, key: BranchKey) -> str | None:
    try:
        source.fetch(key.project, f"refs/heads/{key.branch}")
        return source.head(key.project, key.branch)
    except NotFound:
        return None


def _start(store: Store, key: BranchKey, head: str) -> bool:
    run = NewRun(
        kind=RunKind.CALIBRATION,
        patch_set_id=None,
        instance=key.instance,
        project=key.project,
        branch=key.branch,
        revision=head,
        ref=f"refs/heads/{key.branch}",
        subject=f"Calibration of pool {key.pool}: {key.branch} against itself",
        pool=key.pool,
    )
    with store.transaction() as tx:
        run_id = tx.add_run(run)
        if run_id is not None:
            tx.queue_task("plan", run_id)
    return run_id is not None
