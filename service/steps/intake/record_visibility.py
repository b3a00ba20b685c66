"""The answer to who may see a change without sign-in: Benchgate asks the review server, and stores it.

Pages then show what is public without a question to the server. A question that fails changes nothing and
delays no vote: the next full reconciliation asks again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import structlog

from service.domain.errors import Permanent, Transient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.reviewing import ReviewServer
    from service.ports.store import Store

_LOG = structlog.get_logger(__name__)
BATCH: Final = 100


def record_change(store: Store, server: ReviewServer, number: int) -> None:
    """Ask whether a stored change is public, and store the answer."""
    try:
        _ask(store, server, [number])
    except (Transient, Permanent) as error:
        _LOG.warning("visibility.not_asked", instance=server.instance, change=number, error=str(error))


def record_all(store: Store, server: ReviewServer) -> None:
    """Ask which branches are public, and which changes on them that are not stored as public or private.

    A branch that was closed hides its changes; those of a branch that was opened are asked about.
    """
    try:
        _ask_about_branches(store, server)
        after: int | None = -1
        while after is not None:
            after = _ask_next(store, server, after)
    except (Transient, Permanent) as error:
        _LOG.warning("visibility.not_asked", instance=server.instance, error=str(error))


def _ask_about_branches(store: Store, server: ReviewServer) -> None:
    with store.transaction() as tx:
        branches = tx.branches(server.instance)
    for project, branch in branches:
        is_public = server.can_read(None, project, branch)
        with store.transaction() as tx:
            tx.record_branch(server.instance, project, branch, is_public=is_public)


def _ask_next(store: Store, server: ReviewServer, after: int) -> int | None:
    """Ask about the next changes; return the number of the last one, None if there are no more."""
    with store.transaction() as tx:
        asked = tx.hidden_changes(server.instance, after, BATCH)
    if asked:
        _ask(store, server, asked)
    return asked[-1] if asked else None


def _ask(store: Store, server: ReviewServer, asked: Sequence[int]) -> None:
    visible = server.visible(None, asked)
    with store.transaction() as tx:
        tx.record_visible(server.instance, asked, visible)
