"""Define the part of a job that its kind decides, and that of a job which another CI runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar

from service.domain.project.forms import Record, about

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.domain.project.build_commands import BuildCommands
    from service.domain.project.yaml_reader import Path


class Work(StrEnum):
    """Work of jobs; the header of a failed build names it."""

    BENCHMARKS = "Benchmarks"
    TESTS = "Tests"
    COMMAND = "Command"  # the result is an exit code; the output may name the failure
    FORMAT = "Format Check"
    LINT = "Lint Check"
    PROJECT_FILE = "Project File Check"
    OTHER = "Build"


@dataclass(frozen=True, slots=True)
class Configuration(Record):
    """Base class of configurations: the keys that only jobs of the kind have, and facts about the kind."""

    work: ClassVar = Work.OTHER
    is_external: ClassVar = False  # another CI runs the jobs: they have no pool and no runner
    may_compare: ClassVar = False  # builds can compare two sides: the whole policy applies to them

    @property
    def compares(self) -> bool:
        """Return whether builds with this configuration compare two sides."""
        return self.as_benchmark is not None

    @property
    def as_benchmark(self) -> Configuration | None:
        """The programs to measure on both sides; None if builds compare nothing."""
        return None

    @property
    def shares_results(self) -> bool:
        """Return whether a build also counts for a patch set with equal trees."""
        return True

    @property
    def build(self) -> BuildCommands | None:
        """The commands that build the sources; None if the kind builds nothing."""
        return None

    @property
    def programs(self) -> tuple[str, ...]:
        """Paths of the programs that a build must produce; part of a binary's key."""
        return self.as_benchmark.programs if self.as_benchmark else ()

    def faults(self) -> Iterable[tuple[Path, str]]:
        """Yield path and problem of each value that makes only this job unusable."""
        return ()


class Reuse(StrEnum):
    """The results of earlier patch sets that count for a new one."""

    NEVER = "never"
    EQUAL_TREES = "equal-trees"


@dataclass(frozen=True, slots=True)
class ExternalConfiguration(Configuration):
    """The one key of jobs that another CI runs: Benchgate only waits for the result."""

    is_external: ClassVar = True
    reuse: Annotated[
        Reuse, about("equal-trees: a result also counts for a patch set with the same code and parent")
    ] = Reuse.NEVER

    @property
    def shares_results(self) -> bool:
        """Return whether a build also counts for a patch set with equal trees."""
        return self.reuse is Reuse.EQUAL_TREES
