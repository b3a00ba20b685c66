"""List the job kinds, and import the modules of each kind's folder."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Final

from service.domain.project.forms import Core, Record, after

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from service.domain.project.build_commands import BuildCommands
    from service.domain.project.yaml_reader import Path

# Each folder has configuration.py, and runner.py unless another CI runs the jobs.
KINDS: Final = {
    "benchmark": "service.kinds.benchmark",
    "clang-analyzer": "service.kinds.clang_analyzer",
    "clang-format": "service.kinds.clang_format",
    "clang-tidy": "service.kinds.clang_tidy",
    "command": "service.kinds.command",
    "ctest": "service.kinds.ctest",
    "external": "service.kinds.external",
    "gtest": "service.kinds.gtest",
}

OWN_FILE: Final = "project-file"  # the check of a patch set's own benchgate.yaml; no file can request it


class Work(StrEnum):
    """Work of jobs; the header of a failed build names it."""

    BENCHMARKS = "Benchmarks"
    TESTS = "Tests"
    COMMAND = "Command"  # the result is an exit code; the output may name the failure
    FORMAT = "Format Check"
    LINT = "Lint Check"
    PROJECT_FILE = "Project File Check"
    OTHER = "Build"


def comparing_kinds() -> list[str]:
    """Name the kinds whose builds can compare two sides."""
    return [name for name in KINDS if JobKind(name).may_compare]


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


class JobKind(str):
    """A kind's name; no enum, because a file or a stored build may name a kind that this version lacks."""

    __slots__ = ()

    @property
    def is_known(self) -> bool:
        """Return whether this version runs jobs of the kind."""
        return self in KINDS

    @property
    def work(self) -> Work:
        """Return the work of jobs of the kind."""
        if self == OWN_FILE:
            return Work.PROJECT_FILE
        return self.configuration.work if self.is_known else Work.OTHER

    @property
    def is_external(self) -> bool:
        """Return whether another CI runs jobs of the kind."""
        return self.is_known and self.configuration.is_external

    @property
    def may_compare(self) -> bool:
        """Return whether builds of the kind can compare two sides."""
        return self.is_known and self.configuration.may_compare

    @property
    def configuration(self) -> type[Configuration]:
        """The type of :attr:`Job.configuration` for a known kind."""
        found: type[Configuration] = self.part("configuration").CONFIGURATION
        return found

    def part(self, name: str) -> ModuleType:
        """Import a module of a known kind's folder."""
        return import_module(f"{KINDS[self]}.{name}")

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> Core:
        return after(cls).wrap({"type": "str"})
