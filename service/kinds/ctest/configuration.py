"""The configuration of a job that runs tests by CTest."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from service.domain.measuring.formats.ctest import CTest
from service.domain.measuring.formats.suites import OwnSuite
from service.domain.project.build_commands import InnerPath  # noqa: TC001 - keys_of reads it
from service.domain.project.forms import Text, about
from service.domain.project.tests import TimedTestsConfiguration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.project.yaml_reader import Path

PROGRAM: Final = "ctest"
_WHOLE: Final = "**"


@dataclass(frozen=True, slots=True, kw_only=True)
class CTestConfiguration(TimedTestsConfiguration):
    """The keys that only jobs of kind ctest have."""

    directory: Annotated[InnerPath, about("with the tests: ctest's --test-dir")] = "build"
    filter: Annotated[Text, about("a regular expression: ctest's --tests-regex")] = ""
    args: Annotated[tuple[Text, ...], about("further arguments of ctest")] = ()

    @property
    def suites(self) -> tuple[OwnSuite, ...]:
        """CTest itself, which starts the programs."""
        suite = OwnSuite(
            name=PROGRAM,
            program="",
            filter=self.filter,
            args=self.args,
            timeout=self.timeout,
            own_format=CTest(directory=self.directory, memory=self.memory),
        )
        return (suite,)

    def faults(self) -> Iterator[tuple[Path, str]]:
        """Yield the reasons why CTest cannot run in copies of the build directory."""
        if not self.compare:
            return
        if posixpath.normpath(self.directory).split("/")[0] != "build":
            yield ("directory",), f"with compare, {self.directory!r} must be build or a directory below it"
        if _WHOLE not in self.build.keep:
            needed = (
                f'needs `keep: ["{_WHOLE}"]` in `build`: CTest runs in copies of the whole build directory'
            )
            yield ("compare",), needed


CONFIGURATION: Final = CTestConfiguration
