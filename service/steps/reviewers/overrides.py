"""Writes down what a person decided about the builds of a patch set, and decides anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.comparison.benchmark_filter import is_chosen
from service.domain.decision.overrides import OverrideKind, active_overrides
from service.domain.decision.states import BuildState, RunState
from service.domain.decision.vote import Outcome
from service.domain.text import plain
from service.ports.records import NewOverride
from service.steps.deciding.decide import decide, has_failed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.gerrit.comment_commands import AcceptCommand, OverrideCommand
    from service.domain.links import Links
    from service.ports.records import BuildRecord, ReviewComment, RunRecord
    from service.ports.store import Transaction
    from service.ports.transaction.builds import Builds


def override_builds(
    tx: Transaction, run: RunRecord | None, comment: ReviewComment, command: OverrideCommand, links: Links
) -> str:
    """The failed builds that there are now do not count any more; what to answer, empty where a vote does.

    Builds that start later are not covered: who overrides has seen what failed.
    """
    failed = [each for each in _finished(tx, run) if has_failed(each) and command.job in {"", each.job}]
    if run is None or not failed:
        return "nothing failed that could be overridden"
    override = NewOverride(
        OverrideKind.OVERRIDE,
        comment.account,
        comment.person,
        builds=[build.id for build in failed],
        bug=command.bug,
        reason=command.reason,
        comment_id=comment.id,
    )
    return _add_override(tx, run, comment, override, links)


def accept_slower(
    tx: Transaction, run: RunRecord | None, comment: ReviewComment, command: AcceptCommand, links: Links
) -> str:
    """The slow-downs that a filter chooses are wanted on this patch set; what to answer, as above."""
    blamed = [name for each in _finished(tx, run) if each.outcome is Outcome.SLOWER for name in each.blamed]
    if run is None or not any(is_chosen(command.filter, name) for name in blamed):
        slower = f"; slower are {plain(', '.join(blamed[:5]), 500)}" if blamed else ""
        return f"it chooses nothing that is slower{slower}"
    override = NewOverride(
        OverrideKind.ACCEPT,
        comment.account,
        comment.person,
        pattern=command.filter,
        reason=command.reason,
        comment_id=comment.id,
    )
    return _add_override(tx, run, comment, override, links)


def undo_overrides(tx: Transaction, run: RunRecord | None, comment: ReviewComment, links: Links) -> str:
    """Every override and acceptance of this patch set is taken back."""
    in_force = () if run is None else active_overrides(tx.overrides(comment.patch_set_id), run.revision)
    is_overridden = any(each.kind in {OverrideKind.OVERRIDE, OverrideKind.ACCEPT} for each in in_force)
    if run is None or not is_overridden:
        return "nothing is overridden"
    override = NewOverride(OverrideKind.UNDO, comment.account, comment.person, comment_id=comment.id)
    return _add_override(tx, run, comment, override, links)


def _add_override(
    tx: Transaction, run: RunRecord, comment: ReviewComment, override: NewOverride, links: Links
) -> str:
    tx.add_override(comment.patch_set_id, override)
    if run.state is not RunState.FINISHED:
        return "noted; it counts once the round is finished"
    decide(tx, run, tx.builds_of(run.id), links)
    return ""


def _finished(tx: Builds, run: RunRecord | None) -> Sequence[BuildRecord]:
    builds = () if run is None else tx.builds_of(run.id)
    return [build for build in builds if build.state is BuildState.FINISHED]
