"""A job of the project file: something to run for a patch set."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from service.domain.identity import digest_of
from service.domain.inference.policy import Policy
from service.domain.project.benchmark import BenchmarkConfiguration

if TYPE_CHECKING:
    from service.domain.project.configuration import Configuration


class JobKind(StrEnum):
    """The kinds of jobs, by what they run."""

    BENCHMARK = "benchmark"
    CTEST = "ctest"
    GTEST = "gtest"
    CLANG_FORMAT = "clang-format"
    CLANG_TIDY = "clang-tidy"
    CLANG_ANALYZER = "clang-analyzer"
    COMMAND = "command"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class Job:
    """Something to run for a patch set. ``pool`` is empty if another CI runs it.

    ``configuration`` is of the kind's own type; ``source`` is the job as written,
    to be stored with each build.
    """

    name: str
    kind: JobKind
    configuration: Configuration
    pool: str = "perf"
    paths: tuple[str, ...] = ()  # empty: every change concerns it
    policy: Policy = field(default_factory=Policy)
    voting: bool = True
    source: dict[str, Any] = field(default_factory=dict)

    @property
    def benchmark(self) -> BenchmarkConfiguration:
        """The configuration of a benchmark job.

        Raises:
            TypeError: the job is of another kind.
        """
        if not isinstance(self.configuration, BenchmarkConfiguration):
            raise TypeError(f"job {self.name} is of kind {self.kind}, not benchmark")
        return self.configuration

    @property
    def config_hash(self) -> str:
        """Equal exactly when the job is configured alike; part of what makes results reusable."""
        return digest_of({"job": self.name, "config": self.source})

    @property
    def build_hash(self) -> str:
        """Equal exactly when the build commands are alike; part of a binary's key."""
        return digest_of({"build": self.source.get("build", {}), "programs": [*self.configuration.programs]})
