"""Route a person's account page: sign-out, and their API tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Protocol

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import RedirectResponse, Response

from service.domain.access.caller import Role
from service.domain.access.tokens import DEFAULT_DAYS, MOST_DAYS
from service.domain.values.errors import BadInput
from service.steps.access.manage_tokens import TokenRequest, create_token, revoke_token, tokens_for
from service.web.access.authenticate import person_of
from service.web.access.forms import Form, form_of
from service.web.access.tickets import check_ticket, ticket_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.access.caller import User
    from service.ports.access import Token, Tokens

_SEE_OTHER: Final = 303
_ACCOUNT: Final = "/account"
_TOKENS: Final = f"{_ACCOUNT}/tokens"
_DIGITS: Final = 3  # of a number of days


@dataclass(frozen=True, slots=True)
class AccountView:
    """The account page of a person.

    Args:
        person: the page's caller.
        tokens: those that the person may revoke, the newest first.
        created: the text of a token just created, else empty.
    """

    person: User
    tokens: Sequence[Token]
    created: str = ""
    default_days: int = DEFAULT_DAYS
    most_days: int = MOST_DAYS

    @property
    def is_operator(self) -> bool:
        """The person may give tokens every scope, and read the audit log."""
        return self.person.role.includes(Role.OPERATOR)

    def ticket(self, path: str) -> str:
        """Make the ticket of a form that is sent to ``path``."""
        return ticket_for(self.person, f"POST {path}")


class RenderAccount(Protocol):
    """Renderer of the account page."""

    def __call__(self, request: Request, view: AccountView, /) -> Response:
        """Render the page."""


def create_account(tokens: Tokens, render: RenderAccount) -> APIRouter:
    """Create the routes of the account page; a form for a token creates one, however often it is sent."""
    router = APIRouter(include_in_schema=False)

    @router.get(_ACCOUNT)
    def account(request: Request) -> Response:
        person = person_of(request)
        return render(request, AccountView(person, tokens_for(tokens, person)))

    @router.post(_TOKENS)
    def add_token(request: Request, form: Annotated[Form, Depends(form_of)]) -> Response:
        person = person_of(request)
        ticket = check_ticket(person, f"POST {_TOKENS}", form.get("ticket", ""))
        wanted = TokenRequest(form.get("name", ""), form.get("scopes", "").split(), _days(form))
        _, text = create_token(tokens, wanted, person, ticket)
        page = render(request, AccountView(person, tokens_for(tokens, person), text))
        page.headers["Cache-Control"] = "no-store"  # it shows the token, this once
        return page

    @router.post(f"{_TOKENS}/{{token_id}}/revoke")
    def end_token(
        request: Request,
        token_id: Annotated[int, Path(ge=1, le=(1 << 63) - 1)],
        form: Annotated[Form, Depends(form_of)],
    ) -> Response:
        person = person_of(request)
        # The ticket is not kept: to revoke a token twice does no harm.
        check_ticket(person, f"POST {request.url.path}", form.get("ticket", ""))
        revoke_token(tokens, token_id, person)
        return RedirectResponse(_ACCOUNT, _SEE_OTHER)

    return router


def _days(form: Form) -> int:
    text = form.get("days", "").strip()
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise BadInput(f"the lifetime is a number of days, 1 to {MOST_DAYS}", "days")
    return int(text)
