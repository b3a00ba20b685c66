"""Receive events by webhook."""

from __future__ import annotations

import hmac
from functools import partial
from typing import TYPE_CHECKING

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import Counter

from service.domain.review.change import EVENT_BYTES
from service.domain.values.errors import Transient
from service.web.problems import problem, request_id_of, seconds_to_wait
from service.web.review.group_commit import GroupCommit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prometheus_client import CollectorRegistry

_LOG = structlog.get_logger(__name__)


def create_webhooks(
    secrets: Mapping[str, Sequence[str]],
    receive: Callable[[str, Sequence[bytes]], Sequence[int | None]],
    registry: CollectorRegistry,
) -> APIRouter:
    """Create the route for Gerrit's webhooks plug-in.

    Args:
        secrets: the accepted secrets by instance, which differ; two while one replaces the other, none
            closes the route.
        receive: stores the bodies of events of an instance, all or none, and returns the number of each,
            None if it is not an event. Called in a thread; may raise Transient.
        registry: gets the count of events.
    """
    intakes = {instance: GroupCommit(partial(receive, instance)) for instance in secrets}
    known = tuple((secret.encode(), intakes[instance]) for instance, own in secrets.items() for secret in own)
    events = Counter(
        "benchgate_webhook_events", "Events received by webhook.", ["outcome"], registry=registry
    )
    router = APIRouter()

    @router.post("/webhooks/gerrit/{secret}", status_code=204, include_in_schema=False)
    async def receive_event(secret: str, request: Request) -> Response:
        path = "/webhooks/gerrit"  # without the secret, because answers contain it
        request_id = request_id_of(request)
        intake = _intake_of(secret, known)
        if intake is None:
            return problem(404, "there is no such route", path=path, request_id=request_id)
        body = await _read(request)
        if body is None:
            events.labels("too large").inc()
            detail = f"an event has at most {EVENT_BYTES >> 10} KiB"
            return problem(413, detail, path=path, request_id=request_id)
        try:
            number = await intake.add(body)
        except Transient as error:
            # The server sends the event again. Other handlers would put the path into the answer.
            events.labels("postponed").inc()
            again = {"Retry-After": str(seconds_to_wait(error))}
            return problem(503, str(error), path=path, request_id=request_id, headers=again)
        if number is None:
            # Accepted nevertheless: after a 4xx the server would only send it again.
            _LOG.warning("webhook.unreadable", size=len(body), request_id=request_id)
        events.labels("unreadable" if number is None else "accepted").inc()
        return Response(status_code=204)

    return router


def _intake_of(text: str, known: Sequence[tuple[bytes, GroupCommit]]) -> GroupCommit | None:
    given = text.encode(errors="replace")
    # Every secret is compared in full, so that the time taken reveals nothing about a match.
    matching = [intake for secret, intake in known if hmac.compare_digest(given, secret)]
    return matching[0] if matching else None


async def _read(request: Request) -> bytes | None:
    """Read the body; None as soon as it proves too large."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced[:20]) > EVENT_BYTES:
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > EVENT_BYTES:
            return None
    return bytes(body)
