"""Use idle pools for merged commits: measure anchors, decide and narrow what they show, fill the history."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.building.spec import BuildSpec
from service.domain.project.policy import MOST_PAIRS
from service.domain.review.comment_commands import MorePairsCommand
from service.domain.trunk.anchors import BETWEEN, LOOKED_AT, next_anchor
from service.domain.trunk.spread import unexplained
from service.domain.trunk.undecided import worth_more_pairs
from service.domain.values.errors import BadProjectFile, Transient
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.schedule import ASKED_WITHIN
from service.ports.runs.queue import Task
from service.steps.runs.measure_longer import longer_spec
from service.steps.runs.new_run import run_of_pool, start_run
from service.steps.runs.plan_run import new_build
from service.steps.trunk.fill_history import fill_history
from service.steps.trunk.idle_branches import start_in_pools
from service.steps.trunk.narrow_ranges import narrow_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime

    from service.domain.trunk.undecided import UndecidedResult
    from service.domain.verdict.calibration.schedule import BranchKey
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.upkeep import Calibrations
    from service.ports.sources import Source
    from service.ports.store import Store, Transaction


def use_idle_pools(
    store: Store, upkeep: Calibrations, source_of: Callable[[str], Source], now: datetime
) -> int:
    """Start a measurement in every idle pool that has one to make, and return how many were started.

    ``source_of`` returns the mirrors of a review server's projects. It raises Permanent for a server that is
    not configured any more.

    Raises:
        Transient: a branch could not be fetched; all other branches were looked at.
    """
    jobs = upkeep.idle_jobs(ASKED_WITHIN)
    branches = [*dict.fromkeys(job.branch for job in jobs if not job.is_spare)]
    serving: tuple[Callable[[Sequence[BranchKey]], Collection[str]], ...] = (
        lambda idle: start_in_pools(idle, lambda key: _start_anchor(store, source_of, key, now)),
        lambda idle: _measure_each(store, idle),
        lambda idle: narrow_ranges(store, source_of, idle),
        lambda idle: fill_history(store, source_of, {key.pool for key in idle}, now),
    )
    started, fault = set[str](), None
    for serve in serving:
        try:
            started |= {*serve([key for key in branches if key.pool not in started])}
        except Transient as error:
            fault = error
    if fault is not None:
        raise fault
    return len(started)


def _measure_each(store: Store, branches: Sequence[BranchKey]) -> Collection[str]:
    pools = dict.fromkeys(key.pool for key in branches)
    return [pool for pool in pools if _measure_longer(store, [key for key in branches if key.pool == pool])]


def _measure_longer(store: Store, branches: Sequence[BranchKey]) -> bool:
    """Measure an undecided commit longer, or a slower link again; return whether there is one."""
    with store.transaction() as tx:
        if tx.branches.is_measuring(branches[0].pool):
            return False
        found = {each: key for key in branches for each in tx.branches.undecided(key)}
        worth = worth_more_pairs(found)
        if any(_start(tx, found[each], each.run_id, each.build_id, each) for each in worth):
            return True
        # A commit that is still undecided may be all of an anchor's slow-down.
        for key in branches:
            ranges = tx.branches.slow_ranges(key)
            again = (each for each in unexplained(ranges.anchors, ranges.known) if not each.tries)
            if any(_start(tx, key, each.run_id, each.build_id) for each in again):
                return True
        for key in branches:
            if any(_start(tx, key, *link) for link in tx.backfills.slower(key)):
                return True
    return False


def _start(
    tx: Transaction, key: BranchKey, run_id: int, build_id: int, undecided: UndecidedResult | None = None
) -> bool:
    """Start a run that follows another one; return False if its build cannot be measured any more.

    Without ``undecided``, it compares the commits of an anchor by the rule of a check, with relinks.
    """
    try:
        spec = _spec(tx, tx.builds.lock(build_id), undecided)
    except BadProjectFile:  # stored by another version of Benchgate
        return False
    base, patch = spec.base, spec.patch
    if base is None or spec.job.problem or (spec.longer and spec.longer.pairs > MOST_PAIRS):
        return False
    before = tx.runs.lock(run_id)
    what = "measured longer" if undecided else f"compared again with {base.commit[:10]}"
    subject = f"{patch.commit[:10]} of {key.branch} {what} in pool {key.pool}"
    run = run_of_pool(spec.kind, key, before.revision, subject, parent=base.commit)
    new = tx.runs.add(replace(run, previous_id=before.id))
    if new is None:
        return False
    tx.runs.start(
        new,
        tree=patch.tree,
        parent=base.commit,
        parent_tree=base.tree,
        label=before.label,
        merged_as="" if patch.commit == before.revision else patch.commit,
    )
    tx.outbox.queue_task(Task.EXECUTE, tx.builds.add(new, 0, new_build(spec)))
    return True


def _spec(tx: Transaction, build: BuildRecord, undecided: UndecidedResult | None) -> BuildSpec:
    if undecided is None:
        return replace(BuildSpec.from_mapping(build.spec), kind=RunKind.LONGER)
    more = MorePairsCommand(undecided.benchmark, undecided.pairs_to_add)
    return replace(longer_spec(tx.measurements, build, more), kind=RunKind.LONGER)


def _is_anchor_due(store: Store, key: BranchKey) -> bool:
    """Return whether a branch may get an anchor now, before anything is fetched."""
    with store.transaction() as tx:
        if tx.branches.is_measuring(key.pool):
            return False
        since = tx.branches.anchors(key).since
    return since is None or since >= BETWEEN


def _start_anchor(store: Store, source_of: Callable[[str], Source], key: BranchKey, now: datetime) -> bool:
    if not _is_anchor_due(store, key):
        return False
    source = source_of(key.instance)
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
