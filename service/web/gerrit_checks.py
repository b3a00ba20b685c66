"""Answers what Gerrit's Checks tab shows of a patch set, to pages of that Gerrit only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import httpx
from fastapi import APIRouter, Query
from starlette.datastructures import Headers, MutableHeaders

from service.domain.errors import BadInput, NotFound
from service.domain.identity import RunKind
from service.web.conditional import ConditionalRoute
from service.web.gerrit_runs import check_runs
from service.web.gerrit_schemas import FetchResponse
from service.web.problems import RESPONSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Message, Receive, Scope, Send

    from service.domain.links import Links
    from service.ports.reading import Reading
    from service.ports.views import Build, Comparison

_MOST_ROUNDS: Final = 20  # the newest of a patch set: each costs a look into the store
Number = Annotated[int, Query(ge=1, le=(1 << 31) - 1)]


def create_gerrit_checks(reading: Reading, links: Links, origin: str) -> APIRouter:
    """The route that the plugin in Gerrit's pages asks.

    Args:
        reading: where everything shown comes from.
        links: where our pages are.
        origin: of Gerrit's pages, as :func:`origin_of` has it; empty: no page of another origin may read.
    """
    router = APIRouter(prefix="/api/v1/gerrit", route_class=_route_for(origin), responses=RESPONSES)

    def read_rows(build: Build) -> Sequence[Comparison]:
        return reading.comparisons(build.id, build.created_at)

    @router.get("/checks", operation_id="getGerritChecks", tags=["gerrit"], response_model_exclude_none=True)
    def get_checks(
        change: Number,
        patchset: Number,
        sha: Annotated[str, Query(pattern="^([0-9a-f]{40,64})?$", description="the commit, if known")] = "",
        repo: Annotated[str, Query(max_length=500, description="the project, if known")] = "",
    ) -> FetchResponse:
        """Every build of a patch set in the shape of the Checks API's `FetchResponse`."""
        found = reading.patch_set(change, patchset)
        # A number alone may be another server's.
        if sha not in {"", found.patch_set.revision} or repo not in {"", found.change.project}:
            raise NotFound(f"change {change}, patch set {patchset} is another one here")
        checks = [run.id for run in found.runs if run.kind is RunKind.CHECK][:_MOST_ROUNDS]
        rounds = [reading.run(each) for each in reversed(checks)]
        return FetchResponse(runs=check_runs(rounds, read_rows, links))

    return router


def origin_of(url: str) -> str:
    """Where the pages of an address come from, as browsers write it: ``https://host[:port]``.

    Raises:
        BadInput: it is no address of a web server; empty is allowed, and its own origin.
    """
    if not url:
        return ""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise BadInput("is not an address that begins with http:// or https://", "Gerrit's address")
    return f"{parsed.scheme}://{parsed.netloc.decode('ascii')}"


def _route_for(origin: str) -> type[ConditionalRoute]:
    class OpenRoute(ConditionalRoute):
        """A route whose answers, errors too, pages of one other origin may read without credentials."""

        async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
            is_ours = bool(origin) and Headers(scope=scope).get("origin") == origin

            async def send_opened(message: Message) -> None:
                if message["type"] == "http.response.start" and origin:
                    headers = MutableHeaders(scope=message)
                    headers.add_vary_header("Origin")
                    if is_ours:
                        headers["Access-Control-Allow-Origin"] = origin
                await send(message)

            await super().handle(scope, receive, send_opened)

    return OpenRoute
