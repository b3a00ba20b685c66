"""Callers of the web application in tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request

from service.domain.access.caller import Anonymous, User
from service.ports.access import NewSession
from service.web.access.address import Address
from service.web.access.authenticate import Access, known_caller
from service.web.access.rate_limits import RateLimits
from service.web.access.route_rights import RIGHTS
from tests.support.memory.sessions import MemorySessions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.access.caller import Role, TokenHolder
    from service.domain.access.needs import Need

BASE_URL = "https://bench.example.com"


@dataclass
class Callers:
    """The callers that an application knows: sessions in memory, and tokens by their text."""

    sessions: MemorySessions = field(default_factory=MemorySessions)
    tokens: dict[str, TokenHolder] = field(default_factory=dict)

    def access(
        self,
        *,
        is_public: bool = True,
        base_url: str = BASE_URL,
        rights: Mapping[tuple[str, str], Need] = RIGHTS,
        find_token: Callable[[str], TokenHolder | None] | None = None,
        has_way_in: bool = True,
    ) -> Access:
        """The access rules of an application for these callers."""
        return Access(
            rights=rights,
            is_public=is_public,
            address=Address(base_url),
            find_session=self.sessions.find,
            find_token=find_token or self.tokens.get,
            limits=RateLimits(),
            has_way_in=has_way_in,
        )

    def sign_in(self, role: Role, subject: str = "al") -> str:
        """Open a session of a person; return its secret."""
        return self.sessions.open(
            NewSession(subject=subject, name=subject.title(), email=f"{subject}@example.com", role=role)
        )

    def as_person(self, role: Role, subject: str = "al") -> Mapping[str, str]:
        """Return the headers that a browser sends from a page of Benchgate, signed in as a person."""
        return {"Cookie": f"__Host-benchgate={self.sign_in(role, subject)}", "Origin": BASE_URL}


def who_router() -> APIRouter:
    """A route that names the caller."""
    router = APIRouter()

    @router.get("/who")
    def who(request: Request) -> str:
        caller = known_caller(request)
        match caller:
            case Anonymous():
                return "anonymous"
            case User():
                return f"{caller.role} {caller.subject}"
        return f"token {caller.name}"

    return router
