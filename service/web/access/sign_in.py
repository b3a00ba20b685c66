"""Route signing in and out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Protocol
from urllib.parse import quote

import structlog
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from service.domain.access.caller import LONGEST_SESSION
from service.domain.values.errors import NotAllowed, NotFound
from service.steps.access.sign_in import LOCAL_SUBJECT, open_local_session
from service.web.access.account_link import SIGN_IN, account_link
from service.web.access.attempt_cookie import SECONDS, StoredAttempt, decode, encode, return_path
from service.web.access.authenticate import Access, person_of
from service.web.access.forms import form_of

if TYPE_CHECKING:
    from service.domain.access.caller import AccountLink, TokenHolder, User
    from service.domain.access.needs import Need
    from service.ports.access import Sessions, Tokens
    from service.steps.access.sign_in import ProviderSignIn
    from service.web.access.address import Address
    from service.web.access.local_identity import LocalIdentity
    from service.web.access.rate_limits import RateLimits

CALLBACK: Final = f"{SIGN_IN}/callback"
_LOG = structlog.get_logger(__name__)
_NO_STORE: Final = {"Cache-Control": "no-store"}
_OTHER_ATTEMPT: Final = (
    "this answer does not belong to the sign-in that this browser began last: another tab began one later, "
    "it took longer than ten minutes, or another site sent you here"
)
_NO_WAY_IN: Final = (
    "nobody can sign in here yet: an operator must set BENCHGATE_OIDC_ISSUER, BENCHGATE_OIDC_CLIENT_ID and "
    "BENCHGATE_OIDC_CLIENT_SECRET"
)
_BY_LINK: Final = "to sign in, open the link that `benchgate up` or the demo printed when it started"
Form = Annotated[Mapping[str, str], Depends(form_of)]
Wanted = Annotated[str, Query(alias="return", max_length=2000)]


class SignInPage(Protocol):
    """A renderer of the page for signing in."""

    def __call__(
        self, *, account: AccountLink | None, begin: str, secret: str, wanted: str, sentence: str
    ) -> str:
        """Render the page.

        Args:
            account: the link to the reader's account; None if nobody can sign in.
            begin: the address of the link to the identity provider; empty without one.
            secret: of the user of this machine, for the form that posts it; empty: there is no form.
            wanted: the path to return to, for that form.
            sentence: why the person is not signed in; empty at first.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class WaysIn:
    """Ways to sign in; at most one of the two is there.

    Args:
        sessions: stores sessions.
        tokens: stores API tokens.
        address: Benchgate's, for browsers.
        limits: how many requests may arrive.
        provider: the sign-in at the identity provider.
        local: the user of this machine.
    """

    sessions: Sessions
    tokens: Tokens
    address: Address
    limits: RateLimits
    provider: ProviderSignIn | None = None
    local: LocalIdentity | None = None

    def find_session(self, secret: str) -> User | None:
        """Return the person of a session; None if it is over, or was opened by a way that is closed now."""
        person = self.sessions.find(secret)
        return None if person is None or self._is_closed_to(person.subject) else person

    def find_token(self, text: str) -> TokenHolder | None:
        """Return the holder of a token; None if it is not valid, or its creator's way in is closed now."""
        holder = self.tokens.find(text)
        return None if holder is None or self._is_closed_to(holder.subject) else holder

    def access(self, rights: Mapping[tuple[str, str], Need], *, is_public: bool) -> Access:
        """Return the rules for people who come in these ways; the arguments are those of :class:`Access`."""
        return Access(
            rights=rights,
            is_public=is_public,
            address=self.address,
            find_session=self.find_session,
            find_token=self.find_token,
            limits=self.limits,
            has_way_in=self.provider is not None or self.local is not None,
        )

    @property
    def required_provider(self) -> ProviderSignIn:
        """Sign-in at the identity provider; raises NotFound without one."""
        if self.provider is None:
            raise NotFound(self.advice)
        return self.provider

    @property
    def advice(self) -> str:
        """Sentence for a person who came without a link, if there is no provider."""
        return _NO_WAY_IN if self.local is None else _BY_LINK

    def _is_closed_to(self, subject: str) -> bool:
        return subject == LOCAL_SUBJECT and self.local is None


def create_sign_in(ways: WaysIn, page: SignInPage) -> APIRouter:
    """Create the routes below ``/sign-in`` and ``/sign-out``.

    Args:
        ways: the ways to sign in.
        page: renders the page for signing in.
    """
    router = APIRouter(include_in_schema=False)

    @router.get(SIGN_IN)
    def sign_in(request: Request, wanted: Wanted = "/", secret: str = "") -> HTMLResponse:
        if ways.local is not None and secret:
            ways.local.check(request, secret)
        return _page(request, ways, page, return_path(wanted), secret=secret if ways.local else "")

    _add_provider(router, ways, page)
    _add_local(router, ways)
    _add_sign_out(router, ways)
    return router


def _add_provider(router: APIRouter, ways: WaysIn, page: SignInPage) -> None:
    @router.get(f"{SIGN_IN}/begin")
    def begin(request: Request, wanted: Wanted = "/") -> Response:
        ways.limits.sign_in(_client(request))
        attempt = ways.required_provider.begin()
        response = RedirectResponse(attempt.url, 303, _NO_STORE)
        value = encode(StoredAttempt(attempt, return_path(wanted)))
        _set_cookie(response, ways.address, ways.address.attempt_cookie, value, SECONDS)
        return response

    @router.get(CALLBACK)
    def finish(request: Request) -> Response:
        provider = ways.required_provider
        query = dict(request.query_params)
        stored = decode(request.cookies.get(ways.address.attempt_cookie, ""))
        if stored is None or not stored.attempt.is_answered_by(query):
            # The cookie stays: it may be of a later attempt, which nobody else can end.
            _LOG.warning("sign_in.unknown_answer")
            wanted = stored.wanted if stored else "/"
            return _page(request, ways, page, wanted, sentence=_OTHER_ATTEMPT)
        ways.limits.sign_in(_client(request))
        response: Response
        try:
            secret = provider.finish(
                stored.attempt,
                query,
                earlier=_session_secret(request, ways.address),
                address=_client(request),
            )
        except NotAllowed as refusal:
            _LOG.warning("sign_in.refused", reason=str(refusal))
            response = _page(request, ways, page, stored.wanted, sentence=str(refusal))
        else:
            response = _signed_in(ways.address, secret, stored.wanted)
        _set_cookie(response, ways.address, ways.address.attempt_cookie, "", 0)
        return response


def _add_local(router: APIRouter, ways: WaysIn) -> None:
    @router.post(f"{SIGN_IN}/local")
    def sign_in_locally(request: Request, form: Form) -> Response:
        ways.limits.sign_in(_client(request))
        ways.address.require_same_origin(request.headers)
        if ways.local is None:
            raise NotFound("the user of this machine signs in by the identity provider, like everybody else")
        ways.local.check(request, form.get("secret", ""))
        secret = open_local_session(ways.sessions, _session_secret(request, ways.address))
        return _signed_in(ways.address, secret, return_path(form.get("return", "/")))


def _add_sign_out(router: APIRouter, ways: WaysIn) -> None:
    # These forms need no ticket: sent twice they do no more, and only pages of Benchgate can send them.
    @router.post("/sign-out")
    def sign_out(request: Request) -> Response:
        ways.sessions.close(person_of(request).session)
        return _signed_out(ways.address)

    @router.post("/sign-out/everywhere")
    def sign_out_everywhere(request: Request) -> Response:
        ways.sessions.close_all(person_of(request).subject)
        return _signed_out(ways.address)


def _page(
    request: Request, ways: WaysIn, page: SignInPage, wanted: str, *, secret: str = "", sentence: str = ""
) -> HTMLResponse:
    begin = f"{SIGN_IN}/begin?return={quote(wanted, safe='')}" if ways.provider else ""
    shown = sentence or ("" if begin or secret else ways.advice)
    account = account_link(request)
    text = page(account=account, begin=begin, secret=secret, wanted=wanted, sentence=shown)
    return HTMLResponse(text, 403 if sentence else 200, _NO_STORE)


def _signed_in(address: Address, secret: str, wanted: str) -> Response:
    response = RedirectResponse(wanted, 303, _NO_STORE)
    _set_cookie(response, address, address.session_cookie, secret, int(LONGEST_SESSION.total_seconds()))
    return response


def _signed_out(address: Address) -> Response:
    response = RedirectResponse("/", 303, _NO_STORE)
    _set_cookie(response, address, address.session_cookie, "", 0)
    return response


def _set_cookie(response: Response, address: Address, name: str, value: str, seconds: int) -> None:
    response.headers.append("Set-Cookie", address.cookie(name, value, seconds))


def _session_secret(request: Request, address: Address) -> str:
    return request.cookies.get(address.session_cookie, "")


def _client(request: Request) -> str:
    return request.client.host if request.client else ""
