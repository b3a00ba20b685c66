"""Measure anchors: an idle pool compares distant commits of a branch, so that its trends keep their level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.trunk.anchors import BETWEEN, LOOKED_AT, next_anchor
from service.domain.values.errors import BadInput, NotFound, Permanent, Transient
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.schedule import ASKED_WITHIN
from service.steps.runs.new_run import run_of_pool, start_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from service.domain.verdict.calibration.schedule import BranchKey
    from service.ports.runs.upkeep import Calibrations
    from service.ports.sources import Source
    from service.ports.store import Store


def measure_anchors(
    store: Store, upkeep: Calibrations, source_of: Callable[[str], Source], now: datetime
) -> int:
    """Start an anchor in every idle pool that measures nothing, and return how many were started.

    ``source_of`` returns the mirrors of a review server's projects. It raises Permanent for a server that is
    not configured any more.

    Raises:
        Transient: a branch could not be fetched; all other branches were looked at.
    """
    started, fault = set[str](), None
    for key in dict.fromkeys(job.branch for job in upkeep.idle_jobs(ASKED_WITHIN)):
        if key.pool in started or not _is_due(store, key):
            continue
        try:
            if _start_next(store, source_of(key.instance), key, now):
                started.add(key.pool)
        except (BadInput, NotFound, Permanent):
            continue
        except Transient as error:
            fault = error
    if fault is not None:
        raise fault
    return len(started)


def _is_due(store: Store, key: BranchKey) -> bool:
    """Return whether a branch may get an anchor now, before anything is fetched."""
    with store.transaction() as tx:
        if tx.branches.is_measuring(key.pool):
            return False
        since = tx.branches.anchors(key).since
    return since is None or since >= BETWEEN


def _start_next(store: Store, source: Source, key: BranchKey, now: datetime) -> bool:
    source.fetch(key.project, f"refs/heads/{key.branch}")
    line = source.line(key.project, key.branch, LOOKED_AT)
    with store.transaction() as tx:
        revisions = [each.revision for each in line]
        measured = tx.branches.measured(key.instance, key.project, key.branch, revisions)
        found = next_anchor(line, measured, tx.branches.anchors(key).tries, now)
        if found is None:
            return False
        base, patch = found
        subject = f"Anchor of {key.branch} in pool {key.pool}: {base[:10]} to {patch[:10]}"
        run = run_of_pool(RunKind.ANCHOR, key, patch, subject, parent=base)
        return start_run(tx.runs, tx.outbox, run)
