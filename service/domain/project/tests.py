"""Configure test jobs of every kind: build, limits and retries."""

from __future__ import annotations

import posixpath
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from service.domain.project.benchmark import BenchmarkConfiguration, OwnSuite
from service.domain.project.build_commands import MEMORY, BuildCommands, InnerPath
from service.domain.project.configuration import Configuration, Work
from service.domain.project.forms import Duration, Size, Text, about, differ, not_empty, text, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.project.yaml_reader import Path

CTEST: Final = "ctest"
_WHOLE: Final = "**"
_COMMAND: Final = text(
    r"[^\x00]{0,4096}\S[^\x00]{0,4096}", "texts of at most 8192 characters, without NUL and not blank"
)


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

    compare: Annotated[bool, about("also compare durations with the parent's, in pairs")] = False

    @property
    @abstractmethod
    def suites(self) -> tuple[OwnSuite, ...]:
        """The programs that run tests, as suites of benchmarks."""

    @property
    def as_benchmark(self) -> BenchmarkConfiguration | None:
        """The tests as benchmarks, if the job compares them."""
        return BenchmarkConfiguration(build=self.build, suites=self.suites) if self.compare else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandConfiguration(TestsConfiguration):
    """The keys that only jobs of kind command have."""

    work: ClassVar = Work.COMMAND

    command: Annotated[str, _COMMAND, about("runs last, by sh -c in /src; passes with exit code 0")]


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
            name=CTEST,
            program="",
            filter=self.filter,
            args=self.args,
            timeout=self.timeout,
            own=self,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class GTestConfiguration(TimedTestsConfiguration):
    """The keys that only jobs of kind gtest have."""

    # field() hides the property of the base, which would be the default.
    programs: Annotated[
        tuple[InnerPath, ...],
        not_empty("program", minItems=1),
        differ("programs"),
        about("such as build/unit_test"),
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
                own=self,
            )
            for program in self.programs
        )

    def faults(self) -> Iterator[tuple[Path, str]]:
        """Yield the programs that cannot run in copies of the build directory."""
        if benchmark := self.as_benchmark:
            yield from ((("programs", path[1]), f"with compare, {why}") for path, why in benchmark.faults())
