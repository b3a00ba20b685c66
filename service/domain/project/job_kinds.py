"""List the job kinds, each with the type of its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.project.benchmark import BenchmarkConfiguration
from service.domain.project.configuration import ExternalConfiguration, Work
from service.domain.project.linters import AnalyzerConfiguration, FormatConfiguration, TidyConfiguration
from service.domain.project.tests import CommandConfiguration, CTestConfiguration, GTestConfiguration

if TYPE_CHECKING:
    from service.domain.project.configuration import Configuration

# service.kinds.runners has the work on a build of each.
KINDS: Final[dict[str, type[Configuration]]] = {
    "benchmark": BenchmarkConfiguration,
    "clang-analyzer": AnalyzerConfiguration,
    "clang-format": FormatConfiguration,
    "clang-tidy": TidyConfiguration,
    "command": CommandConfiguration,
    "ctest": CTestConfiguration,
    "external": ExternalConfiguration,
    "gtest": GTestConfiguration,
}

OWN_FILE: Final = "project-file"  # the check of a patch set's own benchgate.yaml; no file can request it


def comparing_kinds() -> list[str]:
    """Name the kinds whose builds can compare two sides."""
    return [name for name, configuration in KINDS.items() if configuration.may_compare]


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
        return KINDS[self]
