"""Use idle pools for merged commits: decide what is still undecided, then measure anchors of the trends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.review.comment_commands import MorePairsCommand
from service.domain.trunk.anchors import BETWEEN, LOOKED_AT, next_anchor
from service.domain.trunk.undecided import next_undecided
from service.domain.values.errors import BadInput, NotFound, Permanent, Transient
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.schedule import ASKED_WITHIN
from service.ports.runs.queue import Task
from service.steps.runs.measure_longer import longer_spec
from service.steps.runs.new_run import run_of_pool, start_run
from service.steps.runs.plan_run import new_build

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from service.domain.verdict.calibration.schedule import BranchKey
    from service.ports.runs.upkeep import Calibrations
    from service.ports.sources import Source
    from service.ports.store import Store


def use_idle_pools(
    store: Store, upkeep: Calibrations, source_of: Callable[[str], Source], now: datetime
) -> int:
    """Start a measurement in every idle pool that has one to make, and return how many were started.

    ``source_of`` returns the mirrors of a review server's projects. It raises Permanent for a server that is
    not configured any more.

    Raises:
        Transient: a branch could not be fetched; all other branches were looked at.
    """
    branches = [*dict.fromkeys(job.branch for job in upkeep.idle_jobs(ASKED_WITHIN))]
    started, fault = set[str](), None
    for key in branches:
        if key.pool not in started and _measure_longer(store, key):
            started.add(key.pool)
    for key in branches:
        if key.pool in started or not _is_anchor_due(store, key):
            continue
        try:
            if _start_anchor(store, source_of(key.instance), key, now):
                started.add(key.pool)
        except (BadInput, NotFound, Permanent):
            continue
        except Transient as error:
            fault = error
    if fault is not None:
        raise fault
    return len(started)


def _measure_longer(store: Store, key: BranchKey) -> bool:
    """Continue the pairs of an undecided merged commit; return whether there is one."""
    with store.transaction() as tx:
        if tx.branches.is_measuring(key.pool):
            return False
        found = next_undecided(tx.branches.undecided(key))
        if found is None:
            return False
        merged = tx.runs.lock(found.run_id)
        more = MorePairsCommand(found.benchmark, found.pairs_to_add)
        spec = longer_spec(tx.measurements, tx.builds.lock(found.build_id), more)
        spec = replace(spec, kind=RunKind.LONGER)
        subject = f"{merged.revision[:10]} of {key.branch} measured longer in pool {key.pool}"
        run = run_of_pool(spec.kind, key, merged.revision, subject, parent=merged.parent)
        if spec.base is None or (run_id := tx.runs.add(replace(run, previous_id=merged.id))) is None:
            return False
        base, patch = spec.base, spec.patch
        tx.runs.start(run_id, tree=patch.tree, parent=base.commit, parent_tree=base.tree, label=merged.label)
        tx.outbox.queue_task(Task.EXECUTE, tx.builds.add(run_id, 0, new_build(spec)))
        return True


def _is_anchor_due(store: Store, key: BranchKey) -> bool:
    """Return whether a branch may get an anchor now, before anything is fetched."""
    with store.transaction() as tx:
        if tx.branches.is_measuring(key.pool):
            return False
        since = tx.branches.anchors(key).since
    return since is None or since >= BETWEEN


def _start_anchor(store: Store, source: Source, key: BranchKey, now: datetime) -> bool:
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
