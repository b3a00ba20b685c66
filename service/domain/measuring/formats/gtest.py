"""Programs of GoogleTest, timed: tests are chosen by a filter, with results in JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.domain.building.sandbox_command import Limits
from service.domain.measuring.formats.program import OUT, RESULT, start
from service.domain.measuring.formats.timed import TimedTests
from service.domain.measuring.tests.gtest import read_gtest

if TYPE_CHECKING:
    from collections.abc import Collection

    from service.domain.measuring.formats.program import Invocation
    from service.domain.measuring.repetitions import Repetitions
    from service.domain.measuring.tests.cases import TestRun
    from service.domain.project.benchmark import Suite

_LINE: Final = f'exec "$@" --gtest_output=json:"{OUT}/{RESULT}" >/dev/null'
_SEPARATORS: Final = re.compile(r"[:\-\s]")  # in filters, which match any character with `?`


class GTest(TimedTests):
    """Tests of a GoogleTest program."""

    @override
    def invoke(self, suite: Suite, names: Collection[str], repetitions: Repetitions) -> Invocation:
        """Choose the tests by a filter, which may match a few more if a name has a separator."""
        pattern = ":".join(_SEPARATORS.sub("?", name) for name in names) if names else suite.filter
        chosen = (f"--gtest_filter={pattern}",) if pattern else ()
        return start(suite, _LINE, chosen, Limits(suite.timeout, self.memory))

    @override
    def parse(self, results: bytes) -> TestRun:
        return read_gtest(results, b"")
