"""Configure test jobs of every kind: build, limits and retries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.build_commands import MEMORY, BuildCommands
from service.domain.project.forms import Duration, Flag, Size, about, whole
from service.domain.project.job_kinds import Configuration, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class TestsConfiguration(Configuration):
    """Keys of test jobs of every kind."""

    __test__ = False  # pytest must not collect it
    work: ClassVar = Work.TESTS

    build: Annotated[BuildCommands, about("the build commands")] = field(default_factory=BuildCommands)
    timeout: Annotated[Duration, about("of one try of the tests, without the build")] = 1800.0
    memory: Annotated[Size, about("of one try of the tests, with all their processes")] = MEMORY
    retries: Annotated[int, whole(0, 5), about("further tries of what failed")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedTestsConfiguration(TestsConfiguration, ABC):
    """Keys of test jobs of a kind that reports the duration of each test."""

    may_compare: ClassVar = True

    compare: Annotated[Flag, about("also compare durations with the parent's, in pairs")] = False

    @property
    @abstractmethod
    def suites(self) -> tuple[Suite, ...]:
        """The programs that run tests, as suites of benchmarks."""

    @property
    def as_benchmark(self) -> BenchmarkConfiguration | None:
        """The tests as benchmarks, if the job compares them."""
        return BenchmarkConfiguration(build=self.build, suites=self.suites) if self.compare else None
