"""What tells machines whether the service is well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from service.domain.errors import Transient
from service.domain.health import Patience, degradations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from prometheus_client import CollectorRegistry, Metric

    from service.domain.health import Condition
    from service.ports.reading import Reading


def create_health(
    reading: Reading,
    registry: CollectorRegistry,
    *,
    patience: Patience | None = None,
    checks: Mapping[str, Callable[[], str]] | None = None,
) -> APIRouter:
    """``/healthz``, ``/readyz`` and ``/metrics``.

    Args:
        reading: where the facts come from.
        registry: the metrics that are shown; the facts are added to it.
        patience: how long something may wait.
        checks: further parts by name (``queue``); each returns what is wrong, empty when nothing is.
    """
    allowed = patience or Patience()
    registry.register(_Facts(reading))
    router = APIRouter(include_in_schema=False)

    @router.get("/healthz")
    def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @router.get("/readyz")
    def readyz() -> JSONResponse:
        wrong = [f"{name}: {text}" for name, check in (checks or {}).items() if (text := check())]
        facts: dict[str, Any] = {}
        try:
            condition = reading.condition()
        except Transient as error:
            wrong.append(str(error))
        else:
            wrong.extend(degradations(condition, allowed))
            facts = _facts(condition, reading)
        body = {"status": "degraded" if wrong else "ready", "degraded": wrong, "facts": facts}
        return JSONResponse(body, status_code=503 if wrong else 200, headers={"Cache-Control": "no-store"})

    @router.get("/metrics")
    def metrics() -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return router


def _facts(condition: Condition, reading: Reading) -> dict[str, Any]:
    return {
        "now": _text(condition.now),
        "oldest_unhandled_event_at": _text(condition.oldest_unhandled_event_at),
        "unsent_reviews": condition.unsent_reviews,
        "oldest_unsent_review_at": _text(condition.oldest_unsent_review_at),
        "abandoned_steps": condition.abandoned_steps,
        "queues": [
            {
                "pool": queue.pool,
                "waiting": queue.waiting,
                "oldest_at": _text(queue.oldest_at),
                "machine_seen_at": _text(queue.machine_seen_at),
            }
            for queue in condition.queues
        ],
        "heartbeats": {heartbeat.part: _text(heartbeat.beat_at) for heartbeat in condition.heartbeats},
        "machines": {each.name: _text(each.last_seen_at) for each in reading.machines()},
    }


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


class _Facts(Collector):
    """The facts as gauges, read when they are asked for; a database that is away is itself a fact."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def describe(self) -> Iterable[Metric]:
        """Nothing: registering must not need the database."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """The gauges."""
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
        "Age of the oldest event that is not handled.",
        age(condition.oldest_unhandled_event_at),
    )
    yield GaugeMetricFamily(
        "benchgate_unsent_reviews", "Reviews that wait to be posted.", condition.unsent_reviews
    )
    yield GaugeMetricFamily(
        "benchgate_oldest_review_seconds",
        "Age of the oldest review that waits.",
        age(condition.oldest_unsent_review_at),
    )
    yield GaugeMetricFamily("benchgate_abandoned_steps", "Steps given up.", condition.abandoned_steps)
    waiting = GaugeMetricFamily("benchgate_queued_builds", "Builds that wait.", labels=["pool"])
    oldest = GaugeMetricFamily("benchgate_oldest_build_seconds", "Age of the oldest.", labels=["pool"])
    for queue in condition.queues:
        waiting.add_metric([queue.pool], queue.waiting)
        oldest.add_metric([queue.pool], age(queue.oldest_at))
    beats = GaugeMetricFamily("benchgate_pulse_seconds", "Since the last sign of life.", labels=["part"])
    for heartbeat in condition.heartbeats:
        beats.add_metric([heartbeat.part], age(heartbeat.beat_at))
    yield from (waiting, oldest, beats)
