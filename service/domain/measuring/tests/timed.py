"""Compare the durations of tests like the times of benchmarks.

They are converted to Google Benchmark's JSON as soon as a program ends, so pairs of tests are stored, read
and judged like those of benchmarks.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.domain.measuring.tests.cases import CaseStatus, TestCase, TestRun, as_gbench
from service.domain.measuring.tests.gtest import read_gtest
from service.domain.measuring.tests.junit import Dialect, read_junit
from service.domain.project.benchmark import Suite
from service.domain.project.build_commands import MEMORY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

SHORTEST: Final = 0.1  # seconds; GoogleTest reports whole milliseconds, so one is up to a hundredth of that
REAL_TIME: Final = ("real_time",)
# Most tests of a launch, and characters of its filter. Small groups keep compared launches close together,
# and starting them costs little. CTest runs no test if the compiled regular expression exceeds 64 KiB.
GROUP: Final = (20, 8 << 10)
_RESULT: Final = '"${BENCHGATE_OUT:-/out}/result.json"'
_SPECIAL: Final = re.compile(r"([\^$.*+?()\[|\\])")  # in regular expressions of CTest
_SEPARATORS: Final = re.compile(r"[:\-\s]")  # in filters of GoogleTest, which match any character with `?`
_ABSENT: Final = "the program did not run it"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedSuite(Suite, ABC):
    """Tests of one program."""

    metrics: tuple[str, ...] = REAL_TIME
    memory: int = MEMORY

    @property
    @abstractmethod
    def line(self) -> str:
        """Shell line that starts the program with :meth:`arguments` and writes ``result.json``."""

    @property
    def written(self) -> tuple[str, ...]:
        """Directories in the sources that the program writes to."""
        return ()

    @abstractmethod
    def arguments(self, names: Collection[str] = ()) -> tuple[str, ...]:
        """Return the arguments that choose these tests, or those of the job if there are none."""

    @abstractmethod
    def read(self, results: bytes) -> TestRun:
        """Read the result file; raises BadResults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CTestSuite(TimedSuite):
    """Tests of a build directory that CTest runs, without a ``program`` that the build creates."""

    directory: str

    @property
    def line(self) -> str:
        """Run CTest and discard its output."""
        return f'exec ctest --no-tests=error --output-junit {_RESULT} "$@" >/dev/null'

    @property
    def written(self) -> tuple[str, ...]:
        """Directory of CTest's own logs."""
        return (f"{self.directory}/Testing",)

    def arguments(self, names: Collection[str] = ()) -> tuple[str, ...]:
        """Run the tests one at a time, whatever the job sets: parallel tests would slow each other."""
        escaped = "|".join(_SPECIAL.sub(r"\\\1", name) for name in names)
        pattern = f"^({escaped})$" if names else self.filter
        chosen = ("--tests-regex", pattern) if pattern else ()
        return ("--test-dir", self.directory, *self.args, *chosen, "--parallel", "1")

    def read(self, results: bytes) -> TestRun:
        """Read JUnit XML."""
        return read_junit(results, Dialect.CTEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class GTestSuite(TimedSuite):
    """Tests of a GoogleTest program."""

    @property
    def line(self) -> str:
        """Run the program itself."""
        return f'exec "$@" --gtest_output=json:{_RESULT} >/dev/null'

    def arguments(self, names: Collection[str] = ()) -> tuple[str, ...]:
        """Choose the tests by a filter, which may match a few more if a name has a separator."""
        pattern = ":".join(_SEPARATORS.sub("?", name) for name in names) if names else self.filter
        chosen = (f"--gtest_filter={pattern}",) if pattern else ()
        return ("./" + self.program.removeprefix("./"), *self.args, *chosen)

    def read(self, results: bytes) -> TestRun:
        """Read GoogleTest's JSON."""
        return read_gtest(results, b"")


def durations(run: TestRun, names: Iterable[str]) -> bytes:
    """Write the durations of these tests as Google Benchmark's JSON; a test that did not run has an error."""
    known = {case.name: case for case in run.cases}
    absent = CaseStatus.NOT_RUN
    cases = (known.get(name) or TestCase(name, absent, 0.0, _ABSENT) for name in names)
    # A disabled test would be left out although it was requested.
    asked = (replace(case, status=absent) if case.status is CaseStatus.DISABLED else case for case in cases)
    return as_gbench(TestRun(tuple(asked)))


def ran_in(run: TestRun, before: Collection[str] = ()) -> tuple[str, ...]:
    """Name the tests that passed or failed, and the skipped ones that are also in ``before``.

    A test that ran in the parent may skip itself now and then; its launches show how often.
    """
    passed, skipped = CaseStatus.PASSED, CaseStatus.SKIPPED
    known = set(before)
    return tuple(
        case.name
        for case in run.cases
        if case.status is passed or case.has_failed or (case.status is skipped and case.name in known)
    )


def too_short(*sides: TestRun) -> frozenset[str]:
    """Name the tests that take less than :data:`SHORTEST` on every side that they pass on.

    A test that takes longer on one side is compared: the change may have made it slow.
    """
    longest: dict[str, float] = {}
    for run in sides:
        for case in run.cases:
            if case.status is CaseStatus.PASSED:
                longest[case.name] = max(longest.get(case.name, 0.0), case.seconds)
    return frozenset(name for name, seconds in longest.items() if seconds < SHORTEST)
