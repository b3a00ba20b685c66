"""Health checks and metrics for monitoring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from service.domain.runs.health import BACKUP, PRUNE, VISIBILITY, VOTE_ON
from service.domain.values.errors import Transient
from service.steps.runs.check_health import HealthCheck, Status

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from prometheus_client import CollectorRegistry, Metric

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
        registry: the metrics of this process; gauges of the facts are added to it.
        health: the check of the service; None: a check of the facts alone.
        is_public: ``/readyz`` gives reasons and facts, as pages do without sign-in; False: the status alone.
    """
    check = health or HealthCheck(reading)
    registry.register(_Facts(reading))
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
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

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


class _Facts(Collector):
    """Collector of the facts as gauges; it reads them on request, and reports a database that is down."""

    def __init__(self, reading: MachineReading) -> None:
        self._reading = reading

    def describe(self) -> Iterable[Metric]:
        """Describe nothing, because registering must not need the database."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Read the facts as gauges."""
        try:
            condition = self._reading.condition()
        except Transient:
            yield GaugeMetricFamily("benchgate_database_up", "Whether the database answers.", 0)
            return
        yield GaugeMetricFamily("benchgate_database_up", "Whether the database answers.", 1)
        yield from _gauges(condition)


def _gauges(condition: Condition) -> Iterable[Metric]:
    def age(moment: datetime | None) -> float:
        return 0.0 if moment is None else (condition.now - moment).total_seconds()

    yield GaugeMetricFamily(
        "benchgate_oldest_event_seconds",
        "Age of the oldest unhandled event.",
        age(condition.oldest_unhandled_event_at),
    )
    yield GaugeMetricFamily(
        "benchgate_unsent_reviews", "Reviews waiting to be posted.", condition.unsent_reviews
    )
    yield GaugeMetricFamily(
        "benchgate_oldest_review_seconds",
        "Age of the oldest review waiting to be posted.",
        age(condition.oldest_unsent_review_at),
    )
    yield GaugeMetricFamily(
        "benchgate_abandoned_steps", "Steps abandoned after repeated failures.", condition.abandoned_steps
    )
    waiting = GaugeMetricFamily("benchgate_queued_builds", "Builds waiting for a machine.", labels=["pool"])
    oldest = GaugeMetricFamily(
        "benchgate_oldest_build_seconds", "Age of the oldest waiting build.", labels=["pool"]
    )
    for queue in condition.queues:
        waiting.add_metric([queue.pool], queue.waiting)
        oldest.add_metric([queue.pool], age(queue.oldest_at))
    beats = GaugeMetricFamily(
        "benchgate_pulse_seconds", "Time since the part's last heartbeat.", labels=["part"]
    )
    for heartbeat in condition.heartbeats:
        if heartbeat.part == BACKUP:
            yield GaugeMetricFamily(
                "benchgate_backup_seconds", "Time since the last complete backup.", age(heartbeat.beat_at)
            )
        elif not heartbeat.part.startswith((VOTE_ON, VISIBILITY, PRUNE)):  # they have no frequent heartbeat
            beats.add_metric([heartbeat.part], age(heartbeat.beat_at))
    yield from (waiting, oldest, beats)
