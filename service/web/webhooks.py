"""Where events come in: the only route that changes anything."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import Counter

from service.domain.errors import Transient
from service.domain.gerrit.events import MAX_BYTES
from service.web.group_commit import GroupCommit
from service.web.problems import problem, request_id_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prometheus_client import CollectorRegistry

_LOG = structlog.get_logger(__name__)
_SHORTEST_SECRET: Final = 16  # what a person may type by hand is too easily guessed


def create_webhooks(
    secrets: Sequence[str],
    receive: Callable[[Sequence[bytes]], Sequence[int | None]],
    registry: CollectorRegistry,
) -> APIRouter:
    """The route on which Gerrit's webhooks plug-in reports events.

    Args:
        secrets: those that are accepted; two while one replaces the other, none closes the route.
        receive: stores the bodies of events, all or none; the number of each, None where it is no event.
            Called in a thread; may raise Transient.
        registry: where the events are counted.

    Raises:
        ValueError: a secret is too short to be one.
    """
    if any(len(secret) < _SHORTEST_SECRET for secret in secrets):
        raise ValueError(f"a webhook secret needs at least {_SHORTEST_SECRET} characters")
    intake = GroupCommit(receive)
    known = tuple(secret.encode() for secret in secrets)
    counted = Counter(
        "benchgate_webhook_events", "Events that came in by webhook.", ["outcome"], registry=registry
    )
    router = APIRouter()

    @router.post("/webhooks/gerrit/{secret}", status_code=204, include_in_schema=False)
    async def receive_event(secret: str, request: Request) -> Response:
        path = "/webhooks/gerrit"  # without the secret: this ends up in answers
        request_id = request_id_of(request)
        if not _is_known(secret, known):
            return problem(404, "there is nothing here", path=path, request_id=request_id)
        body = await _read(request)
        if body is None:
            counted.labels("too large").inc()
            detail = f"an event has at most {MAX_BYTES >> 10} KiB"
            return problem(413, detail, path=path, request_id=request_id)
        try:
            number = await intake.add(body)
        except Transient as error:
            # The server sends the event again. Answered here: elsewhere the path is part of the answer.
            counted.labels("postponed").inc()
            again = {"Retry-After": "5"}
            return problem(503, str(error), path=path, request_id=request_id, headers=again)
        if number is None:
            # Accepted all the same: a 4xx would only make the server repeat it.
            _LOG.warning("webhook.unreadable", size=len(body), request_id=request_id)
        counted.labels("unreadable" if number is None else "accepted").inc()
        return Response(status_code=204)

    return router


def _is_known(secret: str, known: Sequence[bytes]) -> bool:
    given = secret.encode(errors="replace")
    # Every secret is compared, and in full: the time taken tells nothing of how far one matched.
    return sum(hmac.compare_digest(given, each) for each in known) > 0


async def _read(request: Request) -> bytes | None:
    """The body; None as soon as it proves too large."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced[:20]) > MAX_BYTES:
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            return None
    return bytes(body)
