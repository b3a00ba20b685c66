"""Failures of the tests in the results of GoogleTest, as its output would name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.failures.assertions import headline_of
from service.domain.failures.failure import Failure, FailureKind, failure_of
from service.domain.failures.source_names import SANDBOX, source_name
from service.domain.testing.gtest import NO_END

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.testing.cases import TestRun

OPENING: Final = "Failure of a GoogleTest test "
"""The words before the name of a test of GoogleTest in a message."""
OPENING_OF_OTHERS: Final = "Failure of a test "
"""The words before the name of a test of an unknown framework."""


def failures_of(run: TestRun, sources: str = "", opening: str = OPENING) -> Iterator[Failure]:
    """Yield the failures of a run; their signatures are those of the failures in the program's output.

    Args:
        run: from :func:`service.domain.testing.gtest.read_gtest`, or another reader of results.
        sources: the folder of the sources on the host.
        opening: the words before the name of a test.
    """
    roots = (sources.replace("\\", "/"), *SANDBOX) if sources else SANDBOX
    for case in run.cases:
        if case.has_failed:
            path, _, line = case.place.rpartition(":")
            kind = FailureKind.CRASH if case.message == NO_END else FailureKind.TEST
            headline = headline_of(case.message.split("\n"))
            place = f"{source_name(path, roots)}:{line}" if path else ""
            yield failure_of(kind, case.name, headline, f"{opening}{case.name}", place)
