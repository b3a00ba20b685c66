"""Check rights before every route: a route without an entry in the table is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fastapi import Request  # noqa: TC002 - FastAPI reads the annotation

from service.domain.access.caller import User
from service.domain.access.needs import Need, refusal
from service.domain.values.errors import NotAllowed
from service.web.access.authenticate import caller_of, leave_anonymous
from service.web.access.same_origin import require_same_origin

if TYPE_CHECKING:
    from service.web.access.authenticate import Access

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


async def authorize(request: Request) -> None:
    """Let a request pass to its route, or raise what forbids it.

    Raises:
        NotAllowed: the caller lacks the right, or another site sent the request.
        TooMany: the caller changes too much at once.
        BadInput: there are two kinds of credentials.
        Transient: the database cannot be used now.
    """
    access: Access = request.app.state.access
    need = access.rights.get((request.method, request.scope["route"].path))
    if need is None:
        raise NotAllowed("nobody may use this address: Benchgate's table of rights does not list it")
    if need is Need.NOTHING:
        leave_anonymous(request)
        return
    changes = request.method not in SAFE_METHODS
    caller = await caller_of(request)
    if changes and isinstance(caller, User):
        require_same_origin(request.headers, access.address)
    refused = refusal(caller, need, is_public=access.is_public)
    if refused is not None:
        raise refused
    if changes:
        access.limits.change(caller)
