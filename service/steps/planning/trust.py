"""Tells whether the code of a patch set may be run, or has to wait for a person's word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.decision.overrides import OverrideKind
from service.domain.decision.states import RunState
from service.domain.errors import Permanent, Transient
from service.domain.text import plain

if TYPE_CHECKING:
    from service.domain.building.spec import Revision
    from service.ports.records import RunRecord
    from service.ports.reviewing import ReviewServer
    from service.ports.store import Store


def why_held(store: Store, server: ReviewServer, run: RunRecord, base: Revision | None, group: str) -> str:
    """Why the code of a check may not run; empty: it may.

    It may where owner and uploader of the change are in the group, and a parent that is not merged was
    allowed to run itself; or where one of the group said ``ok-to-test`` on exactly this patch set.

    Raises:
        Transient: the parent's own check is still to be planned, or there is a newer patch set.
    """
    if run.change is None or run.patch_set_id is None:
        return ""
    with store.transaction() as tx:
        if any(each.kind is OverrideKind.TRUST for each in tx.overrides(run.patch_set_id)):
            return ""
        parents = tx.checks_of(run.instance, base.commit) if base and base.trust == "unreviewed" else None
    change = server.change(run.change)
    if change.current.revision != run.revision:
        raise Transient("a newer patch set is there, which is looked at first")
    # Who rebases somebody's change becomes its uploader, and answers for no line of it.
    for person in (change.owner, change.current.uploader):
        try:
            may = server.is_member(person.account, group)
        except Permanent as error:
            return f"nobody's code runs: {error}"
        if not may:
            return _held(f"{plain(person.shown) or 'its uploader'} is not in the group {group}", group)
    return "" if parents is None else _of_parent(parents, group)


def _of_parent(checks: tuple[tuple[RunState, bool], ...], group: str) -> str:
    if any(was_planned for _, was_planned in checks):
        return ""
    if any(state is RunState.PLANNING for state, _ in checks):
        raise Transient("the check of the parent is still to be planned")
    return _held("its parent is not merged and was not allowed to run", group)


def _held(why: str, group: str) -> str:
    return f"nothing runs yet: {why}; one of {group} allows it by the comment `ok-to-test`"
