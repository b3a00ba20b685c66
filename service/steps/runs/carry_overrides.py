"""Carry overrides over to a patch set with equal trees, and never to new code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.runs.overrides import ACCEPTABLE, OverrideKind, active_overrides
from service.domain.values.identity import RunKind
from service.ports.runs.decisions import NewOverride
from service.steps.runs.decide_run import has_failed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from service.domain.runs.overrides import Override
    from service.ports.review.changes import Changes
    from service.ports.runs.builds import BuildRecord, Builds
    from service.ports.runs.decisions import Overrides
    from service.ports.runs.history import RunHistory
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Transaction


def carry_overrides(tx: Transaction, run: RunRecord, builds: Sequence[BuildRecord]) -> None:
    """Repeat the overrides of earlier patch sets with the same code for failed builds of a check.

    A build is covered if it is the overridden one, or the first of its job on this patch set and of equal
    trees and configuration. Nothing carries over to a patch set after a person undid overrides on it.
    """
    if run.kind is not RunKind.CHECK or run.change is None or run.patch_set_id is None:
        return
    failed = [build for build in builds if has_failed(build)]
    here = tx.overrides.of(run.patch_set_id) if failed else ()
    if not failed or any(each.kind is OverrideKind.UNDO for each in here):
        return
    covered = {build for each in here for build in each.builds}
    failed = [build for build in failed if build.id not in covered]
    accepted = {(each.filter, each.levels) for each in here if each.kind is OverrideKind.ACCEPT}
    may_accept = any(build.outcome in ACCEPTABLE for build in failed)
    for number, each in _earlier(tx.overrides, tx.changes, run):
        if each.kind is OverrideKind.OVERRIDE:
            same = [
                build.id for build in failed if _is_covered(tx.builds, tx.history, run, build, each.builds)
            ]
            if same:
                tx.overrides.add(run.patch_set_id, _copy(each, number, same))
        elif may_accept and (each.filter, each.levels) not in accepted:
            tx.overrides.add(run.patch_set_id, _copy(each, number, ()))


def _earlier(overrides: Overrides, changes: Changes, run: RunRecord) -> Iterator[tuple[int, Override]]:
    """Yield the overrides in force on the last patch set with the same code, with that of their origin."""
    if run.change is None:
        return
    made = overrides.of_change(run.change, changes.same_code(run.change, run.revision)[1:])
    last = max(made, default=0)
    for each in active_overrides(made[last], made[last][0].revision) if last else ():
        if each.kind in {OverrideKind.OVERRIDE, OverrideKind.ACCEPT}:
            yield each.carried_from or last, each


def _is_covered(
    builds: Builds, history: RunHistory, run: RunRecord, build: BuildRecord, overridden: Collection[int]
) -> bool:
    if build.id in overridden:
        return True
    of_job = history.builds_of(run, build.job)
    is_first = bool(of_job) and of_job[0].id == build.id
    return is_first and any(_is_alike(builds.lock(each), build) for each in sorted(overridden))


def _is_alike(old: BuildRecord, new: BuildRecord) -> bool:
    return old.job == new.job and _trees(old) == _trees(new)


def _trees(build: BuildRecord) -> tuple[object, ...]:
    sides = (build.spec.get("patch") or {}, build.spec.get("base") or {})
    return (*(side.get("tree") for side in sides), build.spec.get("config"))


def _copy(each: Override, patch_set: int, builds: Sequence[int]) -> NewOverride:
    return NewOverride(
        each.kind,
        each.account,
        each.who,
        builds=builds,
        pattern=each.filter,
        bug=each.bug,
        reason=each.reason,
        carried_from=patch_set,
        levels=each.levels,
    )
