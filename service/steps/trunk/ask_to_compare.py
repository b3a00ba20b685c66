"""Measure two commits of a branch together because a person asks for it."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import TYPE_CHECKING

from service.domain.access.audit import AuditKind
from service.domain.values.errors import BadInput
from service.domain.values.identity import RunKind
from service.domain.values.text import listed
from service.domain.verdict.calibration.schedule import BranchKey
from service.steps.runs.new_run import run_of_pool, start_run

if TYPE_CHECKING:
    from service.domain.review.change import Account
    from service.ports.commits import CommitPair
    from service.ports.store import Store


def ask_to_compare(store: Store, pair: CommitPair, account: Account, *, signed_in_as: str) -> None:
    """Start an anchor between the commits in each pool of the branch, to be measured when the pool is idle.

    It continues the pairs of an earlier one that ended early. Pools that have all pairs are skipped, and
    those that run another measurement of idle pools.

    Raises:
        BadInput: no pool can take it now.
    """
    started, ends = [], f"{pair.base.revision} to {pair.patch.revision}"
    branch = astuple(pair.branch)
    with store.transaction() as tx:
        for pool in pair.open_pools:
            key, patch = BranchKey(pool, *branch), pair.patch.revision
            subject = f"{pair.base.revision[:10]} to {patch[:10]} of {pair.branch.branch} in pool {pool}"
            run = run_of_pool(RunKind.ANCHOR, key, patch, subject, parent=pair.base.revision)
            asked = replace(run, requested_by=account.id)
            if not tx.branches.is_measuring(pool) and start_run(tx.runs, tx.outbox, asked):
                started.append(pool)
        if started:
            by = {"person": account.name, "signed in as": signed_in_as}
            details = {"commits": ends, "pools": ", ".join(started), **by}
            tx.audit.record_act(AuditKind.COMPARISON_REQUESTED, account.id, " ".join(branch), details)
    if not started:
        raise BadInput(_why_not(pair), "compare")


def _why_not(pair: CommitPair) -> str:
    if pair.open_pools:
        return f"{listed(pair.open_pools)} measures other commits already: try again when that has ended"
    return "all pairs are measured" if pair.pools else "no pool measures this branch"
