"""Tests that CTest runs, timed: chosen by a regular expression, with results in JUnit XML."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.domain.building.sandbox_command import Limits
from service.domain.measuring.formats.program import OUT, RESULT, Invocation
from service.domain.measuring.formats.timed import TimedTests
from service.domain.measuring.tests.junit import Dialect, read_junit

if TYPE_CHECKING:
    from collections.abc import Collection

    from service.domain.measuring.repetitions import Repetitions
    from service.domain.measuring.tests.cases import TestRun
    from service.domain.project.benchmark import Suite

_LINE: Final = f'exec ctest --no-tests=error --output-junit "{OUT}/{RESULT}" "$@" >/dev/null'
_SPECIAL: Final = re.compile(r"([\^$.*+?()\[|\\])")  # in CTest's regular expressions


@dataclass(frozen=True, slots=True, kw_only=True)
class CTest(TimedTests):
    """Tests of a build directory that CTest runs, without a ``program`` that the build creates."""

    directory: str

    @property
    @override
    def written(self) -> tuple[str, ...]:
        return (f"{self.directory}/Testing",)  # CTest's own logs

    @override
    def invoke(self, suite: Suite, names: Collection[str], repetitions: Repetitions) -> Invocation:
        """Run the tests one at a time, whatever the job sets: parallel tests would slow each other."""
        escaped = "|".join(_SPECIAL.sub(r"\\\1", name) for name in names)
        pattern = f"^({escaped})$" if names else suite.filter
        chosen = ("--tests-regex", pattern) if pattern else ()
        arguments = ("--test-dir", self.directory, *suite.args, *chosen, "--parallel", "1")
        return Invocation(_LINE, arguments, Limits(suite.timeout, self.memory))

    @override
    def parse(self, results: bytes) -> TestRun:
        return read_junit(results, Dialect.CTEST)
