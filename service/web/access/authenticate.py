"""Authenticate the caller of a request, by a session's cookie or an API token, and check their rights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fastapi import Request  # noqa: TC002 - FastAPI reads the annotation
from starlette.concurrency import run_in_threadpool

from service.domain.access.caller import Anonymous, User
from service.domain.access.needs import Need, refusal
from service.domain.values.errors import BadInput, NotAllowed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping
    from typing import Any

    from starlette.datastructures import MutableHeaders

    from service.domain.access.caller import Caller, TokenHolder
    from service.web.access.address import Address
    from service.web.access.rate_limits import RateLimits

_CALLER: Final = "caller"
_ENDED: Final = "ended_cookie"
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_BAD_TOKEN: Final = (
    "the API token is not valid: it expired, was revoked or never existed; "
    "make a new one with `benchgate token create`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Rules and stores that decide who may do what.

    Args:
        rights: the need of each route, by method and path template; a route without one is closed.
        is_public: reading needs no sign-in.
        address: the application's, for browsers.
        find_session: returns the person of a session's secret; called in a thread.
        find_token: returns the holder of an API token; called in a thread.
        limits: how many requests a caller may send.
        has_way_in: people can sign in.
    """

    rights: Mapping[tuple[str, str], Need]
    is_public: bool
    address: Address
    find_session: Callable[[str], User | None]
    find_token: Callable[[str], TokenHolder | None]
    limits: RateLimits
    has_way_in: bool


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
    changes = request.method not in _SAFE_METHODS
    caller = await caller_of(request)
    if changes and isinstance(caller, User):
        access.address.require_same_origin(request.headers)
    refused = refusal(caller, need, is_public=access.is_public)
    if refused is not None:
        raise refused
    if changes and need is not Need.STORE:  # a build sends many artifacts, and can change none
        access.limits.change(caller)


async def caller_of(request: Request) -> Caller:
    """Authenticate the caller of a request, once; without credentials, this costs neither thread nor query.

    Raises:
        BadInput: there are two kinds of credentials.
        NotAllowed: there is an API token, and it is not valid.
        Transient: the database cannot be used now.
    """
    state = _state(request)
    if _CALLER not in state:
        state[_CALLER] = await _authenticate(request)
    caller: Caller = state[_CALLER]
    return caller


async def authenticate_again(request: Request) -> None:
    """Authenticate a caller a second time, after a long body; raises as ``caller_of``."""
    _state(request)[_CALLER] = await _authenticate(request)


def known_caller(request: Request) -> Caller:
    """Return the caller whom the check of rights has authenticated; for code in threads."""
    caller: Caller = _state(request)[_CALLER]
    return caller


def person_of(request: Request) -> User:
    """Return the person who sent a request; by the table of rights, its route admits only people."""
    caller = known_caller(request)
    if not isinstance(caller, User):
        raise NotAllowed("only a person who signed in can do this")
    return caller


def find_actor(request: Request, need: Need = Need.ACT) -> User | None:
    """Return the person who sent a request, or None if their role does not admit them to the forms.

    ``need``: the right that the route of the form asks for.
    """
    caller = known_caller(request)
    if isinstance(caller, User) and refusal(caller, need, is_public=True) is None:
        return caller
    return None


def leave_anonymous(request: Request) -> None:
    """Treat the caller as anonymous, whatever the credentials are: the route is the same for everybody."""
    _state(request)[_CALLER] = Anonymous()


def has_session(request: Request) -> bool:
    """Return whether a browser has a session that nothing has shown to be over."""
    access: Access = request.app.state.access
    return access.address.session_cookie in request.cookies and _ENDED not in _state(request)


def add_headers(scope: MutableMapping[str, Any], headers: MutableHeaders) -> None:
    """Keep shared caches from storing an answer for one caller; remove the cookie of a session that ended."""
    is_known = not isinstance(scope["state"].get(_CALLER, Anonymous()), Anonymous)
    if scope["state"].get(_ENDED):
        headers.append("Set-Cookie", scope["state"][_ENDED])
    if is_known and "no-store" not in headers.get("Cache-Control", ""):
        headers.add_vary_header("Cookie")
        headers["Cache-Control"] = "private, no-cache"


async def _authenticate(request: Request) -> Caller:
    access: Access = request.app.state.access
    secret = request.cookies.get(access.address.session_cookie)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    # A proxy before Benchgate may use other schemes, which mean nothing here.
    is_bearer = scheme.lower() == "bearer"
    person = await run_in_threadpool(access.find_session, secret) if secret is not None else None
    if secret is not None and person is None:
        _state(request)[_ENDED] = access.address.cookie(access.address.session_cookie, "", 0)
    if is_bearer and person is not None:
        raise BadInput("the request has a session's cookie and an API token; send one of them", "credentials")
    if is_bearer:
        holder = await run_in_threadpool(access.find_token, token.strip())
        if holder is None:
            raise NotAllowed(_BAD_TOKEN, may_sign_in=True)
        return holder
    return person or Anonymous()


def _state(request: Request) -> dict[str, Any]:
    state: dict[str, Any] = request.scope.setdefault("state", {})
    return state
