"""Decide whether a patch set's code runs at once, or only after a trusted person allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.runs.overrides import OverrideKind
from service.domain.runs.states import RunState
from service.domain.values.errors import Permanent, Transient
from service.domain.wording.refusals import UNTRUSTED_PARENT, held, not_trusted, untrusted

if TYPE_CHECKING:
    from service.domain.building.spec import Revision
    from service.ports.review.server import ReviewServer
    from service.ports.runs.decisions import Overrides
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Store


def reason_to_hold(
    store: Store, server: ReviewServer, run: RunRecord, base: Revision | None, group: str
) -> str:
    """Return the reason why the code of a check may not run; empty if it may.

    It may run if a member of the group commented ``ok-to-test`` on exactly this patch set. It may also run if
    owner and uploader of the change are members, and an unmerged parent was itself allowed to run.

    Raises:
        Transient: the parent's own check is not planned yet, or there is a newer patch set.
    """
    if run.change is None or run.patch_set_id is None:
        return ""
    with store.transaction() as tx:
        if is_allowed(tx.overrides, run):
            return ""
        parents = tx.history.checks_of(run.instance, base.commit) if base and base.is_under_review else None
    change = server.change(run.change)
    if change.current.revision != run.revision:
        raise Transient("there is a newer patch set, which comes first")
    # The uploader alone proves nothing: rebasing somebody else's change makes a person its uploader.
    for person in (change.owner, change.current.uploader):
        try:
            is_member = server.is_member(person.account, group)
        except Permanent as error:
            return untrusted(str(error))
        if not is_member:
            return held(not_trusted(person.shown, group), group)
    return "" if parents is None else _of_parent(parents, group)


def is_allowed(stored: Overrides, run: RunRecord) -> bool:
    """Return whether a trusted person allowed the code of a check's patch set to run."""
    entries = () if run.patch_set_id is None else stored.of(run.patch_set_id)
    return any(override.kind is OverrideKind.TRUST for override in entries)


def _of_parent(checks: tuple[tuple[RunState, bool], ...], group: str) -> str:
    if any(was_planned for _, was_planned in checks):
        return ""
    if any(state is RunState.PLANNING for state, _ in checks):
        raise Transient("the check of the parent is not planned yet")
    return held(UNTRUSTED_PARENT, group)
