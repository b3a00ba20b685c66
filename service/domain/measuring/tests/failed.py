"""Make failures of the failed tests in a framework's results, as its output would name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import NO_END, NO_REASON, Failure, FailureKind, failure_of
from service.domain.failures.output.assertions import headline_of
from service.domain.failures.output.ctest_lines import OPENING as OPENING_OF_CTEST
from service.domain.failures.output.program_output import OPENING
from service.domain.failures.output.reasons import FailureReason
from service.domain.failures.output.source_names import SANDBOX, source_name
from service.domain.failures.signature import DifferentFailures
from service.domain.measuring.tests.cases import CaseStatus, OtherReason
from service.domain.values.text import LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.measuring.tests.cases import TestRun

OPENING_OF_OTHERS: Final = "Failure of a test "
"""Words before the name of a test of an unknown framework."""
_UNKNOWN_PLACE: Final = "unknown file"  # GoogleTest's place of an exception


def failures_of_ctest(run: TestRun) -> Iterator[Failure]:
    """Yield the failures of a run that ``read_junit`` read from CTest's results.

    The results do not tell which tests crashed.
    """
    for case in run.cases:
        if case.status is CaseStatus.NOT_RUN:
            line = f"{OPENING_OF_CTEST}{case.name}: {case.message}"
            yield failure_of(FailureKind.TEST, case.name, "Not Run", line, case.place)
        elif case.has_failed:
            different, line = DifferentFailures(), f"{OPENING_OF_CTEST}{case.name}"
            for reason in (OtherReason(case.message, case.place), *case.others):
                failure = failure_of(FailureKind.TEST, case.name, NO_REASON, line, reason.place)
                different.add(_with_reason(failure, reason.message))
            yield from different.found


def failures_of(run: TestRun, sources: str = "", opening: str = OPENING) -> Iterator[Failure]:
    """Yield the failures of a run, with the same signatures as the failures in the program's output.

    Args:
        run: from :func:`service.domain.measuring.tests.gtest.read_gtest`, or another reader of results.
        sources: the folder of the sources on the host.
        opening: the words before the name of a test.
    """
    roots = (sources.replace("\\", "/"), *SANDBOX) if sources else SANDBOX
    for case in run.cases:
        if case.has_failed:
            different = DifferentFailures()
            for reason in (OtherReason(case.message, case.place), *case.others):
                path, _, line = reason.place.rpartition(":")
                place = f"{source_name(path, roots)}:{line}" if path else ""
                different.add(_failure_of(case.name, reason.message, place, opening))
            yield from different.found


def _failure_of(name: str, message: str, place: str, opening: str) -> Failure:
    kind = FailureKind.CRASH if message == NO_END else FailureKind.TEST
    lines = message.split("\n")
    if opening == OPENING or place or len(lines) == 1 or lines[0] == _UNKNOWN_PLACE:
        return failure_of(kind, name, headline_of(lines), f"{opening}{name}", place)
    return _with_reason(failure_of(kind, name, NO_REASON, f"{opening}{name}", place), message)


def _with_reason(failure: Failure, message: str) -> Failure:
    reason = FailureReason()
    for line in message.split("\n"):
        reason.read(line.encode(errors="replace")[:LINE_BYTES])
    return reason.of(failure)
