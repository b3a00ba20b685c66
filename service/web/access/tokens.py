"""The API routes by which signed-in people create, list and revoke API tokens."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from service.domain.access.caller import Person
from service.domain.access.needs import Need, refusal
from service.domain.access.scopes import LONGEST_SCOPE
from service.domain.access.tokens import DEFAULT_DAYS, LONGEST_NAME, MOST_DAYS, MOST_SCOPES
from service.domain.errors import NotAllowed
from service.steps.access.manage_tokens import TokenRequest, create_token, revoke_token, tokens_for
from service.web.problems import RESPONSES

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.access.caller import Caller
    from service.ports.access import Token, Tokens

Id = Annotated[int, Path(ge=1, le=(1 << 63) - 1)]


class WantedToken(BaseModel):
    """A token to create."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, description="the token's purpose")]
    scopes: Annotated[
        list[Annotated[str, Field(max_length=LONGEST_SCOPE)]],
        Field(
            min_length=1,
            max_length=MOST_SCOPES,
            description="`read`, or for operators also `operate` and `report:PROJECT/JOB`",
            examples=[["read"]],
        ),
    ]
    days: Annotated[StrictInt, Field(ge=1, le=MOST_DAYS, description="the lifetime")] = DEFAULT_DAYS


class TokenView(BaseModel):
    """A token without its text."""

    id: int
    name: str
    scopes: list[str]
    created_by: str
    created_at: datetime
    expires_at: datetime
    used_at: Annotated[datetime | None, Field(description="the last use, to the minute; null: never used")]
    revoked_at: datetime | None


class CreatedToken(TokenView):
    """A token with its text, which Benchgate shows only now."""

    token: Annotated[str, Field(repr=False, description="send it as `Authorization: Bearer TOKEN`")]


class TokenList(BaseModel):
    """Tokens, the newest first."""

    items: list[TokenView]


def create_token_routes(tokens: Tokens, caller_of: Callable[[Request], Caller]) -> APIRouter:
    """Create the routes below ``/api/v1/tokens``; ``caller_of`` returns the caller of a request."""
    router = APIRouter(prefix="/api/v1/tokens", responses=RESPONSES, tags=["tokens"])

    @router.get("", operation_id="listTokens")
    def list_tokens(request: Request, response: Response) -> TokenList:
        """The caller's own tokens; for an operator, all of them."""
        found = tokens_for(tokens, _person(caller_of(request)))
        response.headers["Cache-Control"] = "no-store"
        return TokenList(items=[TokenView.model_validate(_values(token)) for token in found])

    @router.post("", operation_id="createToken", status_code=201)
    def add_token(request: Request, response: Response, wanted: WantedToken) -> CreatedToken:
        """Create a token that sees what the caller's account on the review server sees."""
        creator = _person(caller_of(request))
        token, text = create_token(tokens, TokenRequest(wanted.name, wanted.scopes, wanted.days), creator)
        response.headers["Cache-Control"] = "no-store"
        return CreatedToken.model_validate({**_values(token), "token": text})

    @router.delete("/{token_id}", operation_id="revokeToken", status_code=204)
    def end_token(request: Request, token_id: Id) -> None:
        """Revoke a token at once: one's own, or as an operator any."""
        revoke_token(tokens, token_id, _person(caller_of(request)))

    return router


def _person(caller: Caller) -> Person:
    refused = refusal(caller, Need.SESSION, is_public=False)
    if refused is not None:
        raise refused
    if not isinstance(caller, Person):
        raise NotAllowed("a person must sign in for this")
    return caller


def _values(token: Token) -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "scopes": sorted(map(str, token.scopes)),
        "created_by": token.created_by,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "used_at": token.used_at,
        "revoked_at": token.revoked_at,
    }
