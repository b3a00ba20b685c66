"""Measure anchors: an idle pool compares distant commits of a branch, so that its trends keep their level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.trunk.anchors import LOOKED_AT, next_anchor
from service.domain.values.errors import NotFound, Permanent, Transient
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.schedule import ASKED_WITHIN
from service.ports.runs.runs import NewRun
from service.steps.runs.new_run import start_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.verdict.calibration.schedule import BranchKey
    from service.ports.runs.upkeep import Calibrations
    from service.ports.sources import Source
    from service.ports.store import Store


def measure_anchors(store: Store, upkeep: Calibrations, source_of: Callable[[str], Source]) -> int:
    """Start an anchor in every idle pool that needs no calibration, and return how many were started.

    ``source_of`` returns the mirrors of a review server's projects. It raises Permanent for a server that is
    not configured any more.

    Raises:
        Transient: a branch could not be fetched; all other branches were looked at.
    """
    jobs = upkeep.idle_jobs(ASKED_WITHIN)
    busy = {job.branch.pool for job in jobs if job.is_due}
    started, fault = 0, None
    for branch in dict.fromkeys(job.branch for job in jobs):
        if branch.pool in busy:
            continue
        try:
            is_started = _start_next(store, source_of(branch.instance), branch)
        except (NotFound, Permanent):
            continue
        except Transient as error:
            fault = error
            continue
        if is_started:
            busy.add(branch.pool)
            started += 1
    if fault is not None:
        raise fault
    return started


def _start_next(store: Store, source: Source, key: BranchKey) -> bool:
    source.fetch(key.project, f"refs/heads/{key.branch}")
    line = source.line(key.project, key.branch, LOOKED_AT)
    with store.transaction() as tx:
        revisions = [each.revision for each in line]
        measured = tx.branches.measured(key.instance, key.project, key.branch, revisions)
        known = tx.branches.anchors(key)
        found = next_anchor(line, measured, known.tries, known.since)
        if found is None:
            return False
        base, patch = found
        run = NewRun(
            kind=RunKind.ANCHOR,
            patch_set_id=None,
            instance=key.instance,
            project=key.project,
            branch=key.branch,
            revision=patch,
            subject=f"Anchor of {key.branch} in pool {key.pool}: {base[:10]} to {patch[:10]}",
            pool=key.pool,
            parent=base,
        )
        return start_run(tx.runs, tx.outbox, run)
