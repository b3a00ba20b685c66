"""Values of a benchmark job: how its programs are built, and which of them are measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from service.domain.project.configuration import Configuration


class Instructions(StrEnum):
    """The ways to count instructions: not at all, to report more of them, or to vote on more of them."""

    OFF = "off"
    REPORT = "report"
    VOTE = "vote"


@dataclass(frozen=True, slots=True)
class BuildCommands:
    """The commands that turn a source tree into programs; both run in ``/src`` by ``sh -c``."""

    configure: str = ""
    compile: str = ""
    keep: tuple[str, ...] = ()  # paths under the build directory beside programs and shared objects
    timeout: float = 1800.0


@dataclass(frozen=True, slots=True)
class Suite:
    """One benchmark program of a job, with what is measured of it."""

    name: str
    program: str
    filter: str = ""
    args: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()  # empty: each benchmark's own clock
    higher_is_better: tuple[str, ...] = ()
    cpus: int = 1
    repetitions: int | None = None  # per launch, the best one counts; None: as many as pay
    min_time: float | None = None  # seconds per repetition; a benchmark's own settings override it
    timeout: float = 300.0  # of one launch


@dataclass(frozen=True, slots=True)
class BenchmarkConfiguration(Configuration):
    """The keys that only jobs of kind benchmark have."""

    build: BuildCommands = field(default_factory=BuildCommands)
    suites: tuple[Suite, ...] = ()
    instructions: Instructions = Instructions.OFF
    retries: int = 0

    @property
    def programs(self) -> tuple[str, ...]:
        """One program per suite."""
        return tuple(suite.program for suite in self.suites)
