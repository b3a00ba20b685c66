"""The configuration of a job that runs GoogleTest programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final

from service.domain.measuring.formats.gtest import GTest
from service.domain.measuring.formats.suites import OwnSuite
from service.domain.project.build_commands import InnerPath  # noqa: TC001 - keys_of reads it
from service.domain.project.forms import Text, about, differ, limit
from service.domain.project.tests import TimedTestsConfiguration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.project.yaml_reader import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class GTestConfiguration(TimedTestsConfiguration):
    """The keys that only jobs of kind gtest have."""

    # field() hides the property of the base, which would be the default.
    programs: Annotated[
        tuple[InnerPath, ...], limit(min_length=1), differ("programs"), about("such as build/unit_test")
    ] = field()
    filter: Annotated[Text, about("GoogleTest's --gtest_filter")] = ""
    args: Annotated[tuple[Text, ...], about("further arguments of each program")] = ()

    @property
    def suites(self) -> tuple[OwnSuite, ...]:
        """One for each program, with its name."""
        return tuple(
            OwnSuite(
                name=program,
                program=program,
                filter=self.filter,
                args=self.args,
                timeout=self.timeout,
                own_format=GTest(memory=self.memory),
            )
            for program in self.programs
        )

    def faults(self) -> Iterator[tuple[Path, str]]:
        """Yield the programs that cannot run in copies of the build directory."""
        if benchmark := self.as_benchmark:
            yield from ((("programs", path[1]), f"with compare, {why}") for path, why in benchmark.faults())


CONFIGURATION: Final = GTestConfiguration
