"""Apply `override`, `override undo` and `accept`: record each, and decide the vote again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.project.benchmark_names import is_chosen
from service.domain.review.change import CommentSource
from service.domain.review.form_commands import line_of
from service.domain.runs.overrides import ACCEPTABLE, OverrideKind, active_overrides
from service.domain.runs.states import BuildState, RunState
from service.domain.wording.replies import (
    NO_OVERRIDE,
    RECORDED,
    not_made_known,
    nothing_to_accept,
    nothing_to_override,
)
from service.ports.runs.decisions import NewOverride
from service.steps.failures.make_known import make_known, warn_of_own_errors
from service.steps.runs.decide_run import decide_run, has_failed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from service.domain.review.comment_commands import AcceptCommand, OverrideCommand
    from service.domain.review.links import Links
    from service.domain.runs.slowdown import Slowdown
    from service.ports.review.changes import ReviewComment
    from service.ports.runs.builds import BuildRecord, Builds
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Transaction


def override_builds(
    tx: Transaction,
    run: RunRecord | None,
    comment: ReviewComment,
    command: OverrideCommand,
    links: Links,
    touched: Collection[str] = (),
) -> str:
    """Override the builds that have failed so far, and return the reply; empty if a new vote is the reply.

    If the command says so, their failures become known, too; the reply warns of compile errors in files
    that the patch ``touched``. Later builds are not covered: the person overrides only failures that they
    can see.
    """
    failed = [
        build for build in _finished(tx.builds, run) if has_failed(build) and command.job in {"", build.job}
    ]
    if run is None or not failed:
        return nothing_to_override(command.job)
    override = replace(
        override_of(comment, OverrideKind.OVERRIDE),
        builds=[build.id for build in failed],
        bug=command.bug,
        reason=command.reason,
    )
    # Before the new decision, so that it counts them already.
    known = _not_made_known(comment, command)
    if command.is_known:
        warning = warn_of_own_errors(tx, failed, touched)
        known = "; ".join(filter(None, (make_known(tx, run, failed, comment, command, links), warning)))
    return "; ".join(filter(None, (_add_override(tx, run, comment, override, links), known)))


def _not_made_known(comment: ReviewComment, command: OverrideCommand) -> str:
    """Say how to make failures known if the command did so in earlier versions, or the person means it to."""
    meant = command.as_known if comment.source is CommentSource.COMMENT else None
    return not_made_known(line_of(meant)) if meant else ""


def accept_benchmarks(
    tx: Transaction, run: RunRecord | None, comment: ReviewComment, command: AcceptCommand, links: Links
) -> str:
    """Accept what matches a filter as slower or removed on this patch set; return the reply, as above.

    Slow-downs are accepted as large as they are now; a build that is clearly worse counts again.
    """
    failed = [build for build in _finished(tx.builds, run) if build.outcome in ACCEPTABLE]
    blamed = [name for build in failed for name in build.blamed]
    if run is None or not any(is_chosen(command.filter, name) for name in blamed):
        return nothing_to_accept(blamed)
    override = replace(
        override_of(comment, OverrideKind.ACCEPT),
        pattern=command.filter,
        reason=command.reason,
        levels=_levels(failed, command.filter),
    )
    return _add_override(tx, run, comment, override, links)


def _levels(failed: Sequence[BuildRecord], benchmark_filter: str) -> tuple[Slowdown, ...] | None:
    """List the slow-downs that a filter matches; None if a previous version stored one of the builds."""
    found: list[Slowdown] = []
    for build in failed:
        if build.slowdowns is None:
            return None
        found += [row for row in build.slowdowns if is_chosen(benchmark_filter, row.benchmark)]
    return tuple(found)


def undo_overrides(tx: Transaction, run: RunRecord | None, comment: ReviewComment, links: Links) -> str:
    """Revoke every override and acceptance of this patch set, and return the reply, as above."""
    active = () if run is None else active_overrides(tx.overrides.of(comment.patch_set_id), run.revision)
    if run is None or not any(o.kind in {OverrideKind.OVERRIDE, OverrideKind.ACCEPT} for o in active):
        return NO_OVERRIDE
    return _add_override(tx, run, comment, override_of(comment, OverrideKind.UNDO), links)


def override_of(comment: ReviewComment, kind: OverrideKind) -> NewOverride:
    """Make the entry that a comment asks for."""
    who = comment.account, comment.person
    return NewOverride(kind, *who, comment_id=comment.id, signed_in_as=comment.signed_in_as)


def _add_override(
    tx: Transaction, run: RunRecord, comment: ReviewComment, override: NewOverride, links: Links
) -> str:
    tx.overrides.add(comment.patch_set_id, override)
    if run.state is not RunState.FINISHED:
        return RECORDED
    decide_run(tx, run, tx.builds.of_run(run.id), links)
    return ""


def _finished(stored: Builds, run: RunRecord | None) -> Sequence[BuildRecord]:
    builds = () if run is None else stored.of_run(run.id)
    return [build for build in builds if build.state is BuildState.FINISHED]
