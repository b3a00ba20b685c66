"""Health checks and metrics for monitoring."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from service.steps.runs.check_health import HealthCheck, Status
from service.web.metrics import RecentText

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from service.domain.runs.health import Condition
    from service.ports.reading import MachineReading


def create_health(
    reading: MachineReading,
    registry: CollectorRegistry,
    *,
    health: HealthCheck | None = None,
    is_public: bool = True,
) -> APIRouter:
    """Create ``/healthz``, ``/readyz`` and ``/metrics``.

    Args:
        reading: gives the facts.
        registry: the metrics that ``/metrics`` shows.
        health: the check of the service; None: a check of the facts alone.
        is_public: ``/readyz`` gives reasons and facts, as pages do without sign-in; False: the status alone.
    """
    check = health or HealthCheck(reading)
    recent = RecentText(partial(generate_latest, registry))
    router = APIRouter(include_in_schema=False)

    @router.get("/healthz")
    def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @router.get("/readyz")
    def readyz() -> JSONResponse:
        report = check.report()
        code = 200 if report.status is Status.READY else 503
        if not is_public:
            return JSONResponse({"status": report.status}, code, {"Cache-Control": "no-store"})
        facts = _facts(report.condition, reading) if report.condition else {}
        body = {
            "status": report.status,
            "degraded": report.problems,
            "starting": report.starting,
            "facts": facts,
        }
        return JSONResponse(body, status_code=code, headers={"Cache-Control": "no-store"})

    @router.get("/metrics")
    def metrics() -> Response:
        return Response(recent.read(), media_type=CONTENT_TYPE_LATEST)

    return router


def _facts(condition: Condition, reading: MachineReading) -> dict[str, Any]:
    facts = {
        "now": condition.now,
        "oldest_unhandled_event_at": condition.oldest_unhandled_event_at,
        "unsent_reviews": condition.unsent_reviews,
        "oldest_unsent_review_at": condition.oldest_unsent_review_at,
        "abandoned_steps": condition.abandoned_steps,
        "queues": condition.queues,
        "heartbeats": {heartbeat.part: heartbeat.beat_at for heartbeat in condition.heartbeats},
        "machines": {machine.name: machine.last_seen_at for machine in reading.machines()},
    }
    encoded: dict[str, Any] = jsonable_encoder(facts)
    return encoded
