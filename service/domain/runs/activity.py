"""Say what the service did lately, in the figures that monitoring exports: counts and durations, no names."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

HOUR: Final = 3600.0
"""Seconds of the window in which votes and builds count: long enough for a quiet team, and soon over."""
STAGES: Final = (
    "build base",
    "build patch",
    "test",
    "check",
    "measure",
    "second opinion",
    "confirm",
    "control",
)
"""Phases of a machine's work that have durations; others in a report are not exported."""
QUEUE: Final = "queue"  # from planning to the claim
ANALYSE: Final = "analyse"  # from the machine's report to the end
QUANTILES: Final = (0.5, 0.95)

Quantiles = tuple[float, ...]  # seconds, one for each of QUANTILES


@dataclass(frozen=True, slots=True)
class PoolEvidence:
    """Newest calibrations of a pool's machines in a week: each compared a branch with itself.

    In ``false_alarms`` of them a benchmark was called slower or faster. ``noise`` is the median spread of a
    benchmark's pairs, as a log ratio: 0.015 is the most with which a benchmark may vote. None: no pairs.
    """

    pool: str
    calibrations: int
    false_alarms: int
    noise: float | None


@dataclass(frozen=True, slots=True)
class Activity:
    """Work of the last hour, and the machines' evidence of a week.

    ``votes`` are of checks: +1, -1, or None for a decision without a vote. ``until_vote`` is from the event
    that asked for a run to its first posted review; empty without one. ``stages`` has the stages that a build
    of the hour went through. ``withheld`` counts builds in which the control kept a slow-down from voting,
    ``unfit`` those that ended because the machine could not isolate or run them.
    """

    votes: Mapping[int | None, int] = field(default_factory=lambda: MappingProxyType({}))
    outcomes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    stages: Mapping[str, Quantiles] = field(default_factory=lambda: MappingProxyType({}))
    until_vote: Quantiles = ()
    withheld: int = 0
    unfit: int = 0
    evidence: tuple[PoolEvidence, ...] = ()
    database_bytes: int = 0
