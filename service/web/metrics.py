"""Export figures of the service to Prometheus, read from the database at each scrape.

The database is the truth for every process, so nothing is counted here. Figures of the last hour are gauges:
a count of all rows would fall when retention deletes some.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from itertools import product
from threading import Lock
from typing import TYPE_CHECKING, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from service.domain.runs.activity import QUANTILES
from service.domain.runs.health import BACKUP, PRUNE, Patience
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Transient
from service.ports.machines import MachineState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from prometheus_client import Metric

    from service.domain.machines.disk import Disk
    from service.domain.runs.activity import Activity
    from service.domain.runs.health import Condition
    from service.domain.runs.retention import StoredSize
    from service.ports.machines import Machine
    from service.ports.reading import MachineReading

    Disks = Callable[[], Mapping[str, Disk]]
    Labelled = Iterable[tuple[Sequence[str], float]]

SECONDS: Final = 10.0  # that a text is kept; Prometheus asks every 15 s
_VOTES = {1: "+1", -1: "-1", None: "none"}


class RecentText:
    """Render a text at most every ten seconds, and once at a time: others get the text before meanwhile.

    Args:
        render: takes seconds on a large site.
        clock: monotonic seconds.
    """

    def __init__(self, render: Callable[[], bytes], clock: Callable[[], float] = time.monotonic) -> None:
        self._render = render
        self._clock = clock
        self._text = b""
        self._next_at = -math.inf
        self._rendering = Lock()

    def read(self) -> bytes:
        """Return the text, and wait for the first one."""
        if self._clock() >= self._next_at and self._rendering.acquire(blocking=not self._text):
            try:
                if self._clock() >= self._next_at:  # others may have waited for the same text
                    self._text = self._render()
                    self._next_at = self._clock() + SECONDS
            finally:
                self._rendering.release()
        return self._text


class Metrics(Collector):
    """Collect the figures on request, and report a database that is down.

    Args:
        reading: gives the facts.
        version: of Benchgate.
        disks: gives the disk of each directory, by name.
        patience: how long each configured part may be silent.
    """

    def __init__(
        self, reading: MachineReading, version: str, disks: Disks, patience: Patience | None = None
    ) -> None:
        self._reading = reading
        self._version = version
        self._disks = disks
        self._patience = patience or Patience()

    def describe(self) -> Iterable[Metric]:
        """Describe nothing, because registering must not need the database."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Read the figures as gauges."""
        yield _labelled("benchgate_info", "The running version.", ["version"], [([self._version], 1)])
        yield from _disk_sizes(self._disks())
        try:
            condition, activity = self._reading.condition(), self._reading.activity()
            machines, sizes = self._reading.machines(), self._reading.stored_sizes()
        except Transient:
            yield GaugeMetricFamily("benchgate_database_up", "Whether the database answers.", 0)
            return
        yield GaugeMetricFamily("benchgate_database_up", "Whether the database answers.", 1)
        yield from _backlogs(condition)
        yield from _parts(condition, self._patience)
        yield _machines(machines, condition.now)
        yield from _work(activity)
        yield from _evidence(activity)
        yield from _sizes(activity, sizes)


def _labelled(name: str, text: str, labels: Sequence[str], rows: Labelled) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in rows:
        family.add_metric(values, value)
    return family


def _age(condition: Condition, moment: datetime | None) -> float:
    return 0.0 if moment is None else (condition.now - moment).total_seconds()


def _disk_sizes(disks: Mapping[str, Disk]) -> Iterable[Metric]:
    for field, kind, what in (("free", "free", "Free bytes"), ("total", "size", "Size")):
        rows = [([directory], getattr(disk, field)) for directory, disk in disks.items()]
        text = f"{what} of the file system that holds a directory of the control plane."
        yield _labelled(f"benchgate_disk_{kind}_bytes", text, ["directory"], rows)


def _backlogs(condition: Condition) -> Iterable[Metric]:
    oldest_event = _age(condition, condition.oldest_unhandled_event_at)
    oldest_review = _age(condition, condition.oldest_unsent_review_at)
    for name, text, value in (
        ("oldest_event_seconds", "Age of the oldest unhandled event.", oldest_event),
        ("unsent_reviews", "Reviews waiting to be posted.", condition.unsent_reviews),
        ("oldest_review_seconds", "Age of the oldest review waiting to be posted.", oldest_review),
        ("abandoned_steps", "Steps abandoned after repeated failures.", condition.abandoned_steps),
    ):
        yield GaugeMetricFamily(f"benchgate_{name}", text, value)
    waiting = [([queue.pool], queue.waiting) for queue in condition.queues]
    yield _labelled("benchgate_queued_builds", "Builds waiting for a machine.", ["pool"], waiting)
    ages = [([queue.pool], _age(condition, queue.oldest_at)) for queue in condition.queues]
    yield _labelled("benchgate_oldest_build_seconds", "Age of the oldest waiting build.", ["pool"], ages)


def _parts(condition: Condition, patience: Patience) -> Iterable[Metric]:
    ages = {beat.part: _age(condition, beat.beat_at) for beat in condition.heartbeats}
    if BACKUP in ages:
        yield GaugeMetricFamily(
            "benchgate_backup_seconds", "Time since the last complete backup.", ages[BACKUP]
        )
    if PRUNE in ages:
        yield GaugeMetricFamily("benchgate_prune_seconds", "Time since the last deletion.", ages[PRUNE])
    # Other heartbeats are of removed parts, or name a branch, which may be hidden.
    limits = [([part], limit) for part, limit in patience.limits(ages).items() if part in ages]
    pulses = [([part], ages[part]) for [part], _ in limits]
    yield _labelled("benchgate_pulse_seconds", "Time since the part's last heartbeat.", ["part"], pulses)
    yield _labelled("benchgate_pulse_limit_seconds", "How long the part may be silent.", ["part"], limits)


def _machines(machines: Sequence[Machine], now: datetime) -> Metric:
    present = [each for each in machines if not each.is_gone(now)]
    counted = Counter((each.pool, each.state(now)) for each in present)
    pools = sorted({each.pool for each in present})
    rows = [([pool, state], counted[pool, state]) for pool, state in product(pools, MachineState)]
    return _labelled("benchgate_machines", "Machines by pool and state.", ["pool", "state"], rows)


def _work(activity: Activity) -> Iterable[Metric]:
    votes = [([label], activity.votes.get(vote, 0)) for vote, label in _VOTES.items()]
    yield _labelled("benchgate_votes_last_hour", "Decisions on checks in an hour.", ["value"], votes)
    until = [([str(q)], seconds) for q, seconds in zip(QUANTILES, activity.until_vote, strict=False)]
    text = "Time from an event to the posted review, of the reviews of an hour."
    yield _labelled("benchgate_vote_seconds", text, ["quantile"], until)
    builds = [([outcome], activity.outcomes.get(outcome, 0)) for outcome in Outcome]
    yield _labelled("benchgate_builds_last_hour", "Builds that ended in an hour.", ["outcome"], builds)
    stages = [
        ([stage, str(q)], seconds)
        for stage, found in activity.stages.items()
        for q, seconds in zip(QUANTILES, found, strict=True)
    ]
    text = "Time that a build spends in a stage, of the builds that ended in an hour."
    yield _labelled("benchgate_build_stage_seconds", text, ["stage", "quantile"], stages)
    text = "Builds of an hour in which the control withheld the vote on a slow-down."
    yield GaugeMetricFamily("benchgate_withheld_builds_last_hour", text, activity.withheld)
    text = "Builds of an hour that a machine could not isolate or run."
    yield GaugeMetricFamily("benchgate_unfit_builds_last_hour", text, activity.unfit)


def _evidence(activity: Activity) -> Iterable[Metric]:
    evidence = activity.evidence
    rows: Labelled = [([each.pool], each.calibrations) for each in evidence]
    yield _labelled("benchgate_calibrations_last_week", "Newest calibrations in a week.", ["pool"], rows)
    text = "Those of benchgate_calibrations_last_week with a false alarm."
    rows = [([each.pool], each.false_alarms) for each in evidence]
    yield _labelled("benchgate_false_alarms_last_week", text, ["pool"], rows)
    text = "Median spread of a benchmark's pairs in these calibrations; 0.01 is 1 %."
    rows = [([each.pool], each.noise) for each in evidence if each.noise is not None]
    yield _labelled("benchgate_noise_ratio", text, ["pool"], rows)


def _sizes(activity: Activity, sizes: Sequence[StoredSize]) -> Iterable[Metric]:
    stored = [([each.name, "database"], each.database_bytes) for each in sizes]
    stored += [([each.name, "artifacts"], each.artifact_bytes) for each in sizes]
    text = "What is stored, as it was measured last."
    yield _labelled("benchgate_stored_bytes", text, ["kind", "place"], stored)
    yield GaugeMetricFamily("benchgate_database_bytes", "Size of the database.", activity.database_bytes)
