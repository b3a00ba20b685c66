"""Ask the review server which changes are visible without sign-in, and store the answer.

Pages then show what is public without a request to the server. A failed request changes nothing and delays
no vote: the next full reconciliation asks again.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

import structlog

from service.domain.values.errors import Permanent, Transient
from service.domain.wording.health import QUESTION_REJECTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from service.ports.review.server import ReviewServer
    from service.ports.store import Store

_LOG = structlog.get_logger(__name__)
BATCH: Final = 100
_MOST_SILENT: Final = 3  # questions in a row without an answer; each may take half a minute


def record_change(store: Store, server: ReviewServer, number: int) -> None:
    """Ask whether a stored change is public, and store the answer."""
    try:
        _ask(store, server, [number])
    except (Transient, Permanent) as error:
        _LOG.warning("visibility.not_asked", instance=server.instance, change=number, error=str(error))


def record_all(store: Store, server: ReviewServer) -> str:
    """Ask which branches are public, and which changes on them, unless stored as public or private.

    A branch that was closed hides its changes; those of an opened branch are asked about. Returns the
    trouble, empty if there was none; it names nothing that may be hidden.
    """
    trouble, silent = "", 0
    for name, ask in chain(_about_branches(store, server), _about_changes(store, server)):
        try:
            ask()
            silent = 0
        except Permanent as error:
            trouble = trouble or QUESTION_REJECTED
            _LOG.warning("visibility.not_asked", instance=server.instance, about=name, error=str(error))
        except Transient as error:
            trouble = str(error)
            silent += 1
            _LOG.warning("visibility.not_asked", instance=server.instance, about=name, error=str(error))
            if silent == _MOST_SILENT:
                break
    return trouble


def _about_branches(store: Store, server: ReviewServer) -> Iterator[tuple[str, Callable[[], None]]]:
    with store.transaction() as tx:
        branches = tx.visibility.branches(server.instance)
    for project, branch in branches:
        yield f"{project} {branch}", partial(_ask_about_branch, store, server, project, branch)


def _ask_about_branch(store: Store, server: ReviewServer, project: str, branch: str) -> None:
    is_public = server.can_read(None, project, branch)
    with store.transaction() as tx:
        tx.visibility.record_branch(server.instance, project, branch, is_public=is_public)


def _about_changes(store: Store, server: ReviewServer) -> Iterator[tuple[str, Callable[[], None]]]:
    after = -1
    while True:
        with store.transaction() as tx:
            asked = tx.visibility.hidden_changes(server.instance, after, BATCH)
        if not asked:
            return
        yield f"changes {asked[0]} to {asked[-1]}", partial(_ask, store, server, asked)
        after = asked[-1]


def _ask(store: Store, server: ReviewServer, asked: Sequence[int]) -> None:
    visible = server.visible(None, asked)
    with store.transaction() as tx:
        tx.visibility.record_visible(server.instance, asked, visible)
