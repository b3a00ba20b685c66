"""Serve Gerrit's Checks tab; only pages of that Gerrit may read the answers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Final

import httpx
from fastapi import APIRouter, Query, Request
from starlette.datastructures import Headers, MutableHeaders

from service.domain.values.errors import BadInput, NotFound
from service.domain.values.identity import ChangeAddress, RunKind
from service.web.conditional import ConditionalRoute
from service.web.problems import RESPONSES
from service.web.review.runs import check_runs
from service.web.review.schemas import FetchResponse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.types import Message, Receive, Scope, Send

    from service.domain.review.links import Links
    from service.ports.runs.shown import Build
    from service.ports.verdict import Comparison
    from service.web.api import ReadingOf

INSTANCE_HEADER: Final = "Benchgate-Instance"
_MOST_RUNS: Final = 20  # the newest of a patch set: each costs a query
Number = Annotated[int, Query(ge=1, le=(1 << 31) - 1, examples=[1])]


def create_gerrit_checks(reading_of: ReadingOf, links: Links, origins: Mapping[str, str]) -> APIRouter:
    """Create the route for the plugin in Gerrit's pages.

    Args:
        reading_of: returns the read ports that the caller of a request may use.
        links: addresses of Benchgate's pages.
        origins: of the pages of each Gerrit, from :func:`origin_of`, with its instance; pages of other
            origins may not read.
    """
    router = APIRouter(prefix="/api/v1/gerrit", route_class=_route_for(origins), responses=RESPONSES)

    @router.get("/checks", operation_id="getGerritChecks", tags=["gerrit"], response_model_exclude_none=True)
    def get_checks(
        request: Request,
        change: Number,
        patchset: Number,
        sha: Annotated[str, Query(pattern="^([0-9a-f]{40,64})?$", description="the commit, if known")] = "",
        repo: Annotated[str, Query(max_length=500, description="the project, if known")] = "",
    ) -> FetchResponse:
        """Every build of a patch set, as the `FetchResponse` of Gerrit's Checks API."""
        reading = reading_of(request)

        def read_rows(build: Build) -> Sequence[Comparison]:
            return reading.comparisons(build.id, build.created_at)

        # Browsers always send an origin to another one; without it, the number must be enough.
        instance = origins.get(request.headers.get("origin", ""))
        detail = reading.patch_set(ChangeAddress(change, instance), patchset)
        # A number alone may be another server's.
        if sha not in {"", detail.patch_set.revision} or repo not in {"", detail.change.project}:
            raise NotFound(f"change {change}, patch set {patchset} is a different one on this service")
        newest_first = [run.id for run in detail.runs if run.kind is RunKind.CHECK][:_MOST_RUNS]
        runs = [reading.run(run_id) for run_id in reversed(newest_first)]
        return FetchResponse(runs=check_runs(runs, read_rows, cache(reading.claims), links))

    return router


def origin_of(url: str) -> str:
    """Return the origin of a URL as browsers write it: ``https://host[:port]``; empty for an empty URL.

    Raises:
        BadInput: the URL is not that of a web server.
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


def origins_of(urls: Mapping[str, str]) -> Mapping[str, str]:
    """Return the instance of each origin, from the URLs of the Gerrits by instance.

    Raises:
        BadInput: a URL is not that of a web server, or two Gerrits have one origin.
    """
    origins: dict[str, str] = {}
    for instance, url in urls.items():
        other = origins.setdefault(origin_of(url), instance)
        if other != instance:
            raise BadInput(
                f"{other} and {instance} have the same scheme, host and port, by which the Checks tab tells "
                "two Gerrits apart: give each its own host name",
                "BENCHGATE_GERRITS",
            )
    return origins


def _route_for(origins: Mapping[str, str]) -> type[ConditionalRoute]:
    class OpenRoute(ConditionalRoute):
        """Let pages of these origins read answers and errors, as the person who opened them.

        Browsers send the session's cookie only if both hosts belong to one site. If there are several
        Gerrits, every answer, also an error, names the instance of the one that asks: its pages can then link
        to a change although another Gerrit has the same number.
        """

        async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
            origin = Headers(scope=scope).get("origin", "")

            async def send_opened(message: Message) -> None:
                if message["type"] == "http.response.start" and origins:
                    headers = MutableHeaders(scope=message)
                    headers.add_vary_header("Origin")
                    if origin in origins:
                        headers["Access-Control-Allow-Origin"] = origin
                        headers["Access-Control-Allow-Credentials"] = "true"
                    if origin in origins and len(origins) > 1:
                        headers[INSTANCE_HEADER] = origins[origin]
                        headers["Access-Control-Expose-Headers"] = INSTANCE_HEADER
                await send(message)

            await super().handle(scope, receive, send_opened)

    return OpenRoute
