"""Check the service's health; /readyz and every page show the result."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.runs.health import Patience
from service.domain.values.errors import Transient
from service.domain.wording.health import database_away, degradation_sentences, starting_sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.runs.health import Condition
    from service.ports.reading import MachineReading

_NO_CHECKS: Final[Mapping[str, Callable[[], str]]] = MappingProxyType({})


class Status(StrEnum):
    """The status of the service."""

    READY = auto()
    STARTING = auto()
    DEGRADED = auto()


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The service's problems, and the parts that may still be starting, in sentences.

    ``condition`` is None if the database did not answer.
    """

    problems: tuple[str, ...]
    starting: tuple[str, ...]
    condition: Condition | None

    @property
    def status(self) -> Status:
        """The resulting status."""
        if self.problems:
            return Status.DEGRADED
        return Status.STARTING if self.starting else Status.READY


class HealthCheck:
    """Check the service since the start of this process.

    Args:
        reading: gives the facts.
        patience: how long something may wait.
        checks: further checks by name (``queue``); each returns the problem, empty if there is none.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        reading: MachineReading,
        patience: Patience | None = None,
        checks: Mapping[str, Callable[[], str]] = _NO_CHECKS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reading = reading
        self._patience = patience or Patience()
        self._checks = checks
        self._clock = clock
        self._started_at = clock()

    def report(self) -> HealthReport:
        """Check everything now."""
        problems = tuple(f"{name}: {text}" for name, check in self._checks.items() if (text := check()))
        try:
            condition = self._reading.condition()
        except Transient as error:
            return HealthReport((*problems, database_away(error)), (), None)
        uptime = self._clock() - self._started_at
        degraded = degradation_sentences(condition, self._patience, uptime)
        return HealthReport(
            (*problems, *degraded), starting_sentences(condition, self._patience, uptime), condition
        )
