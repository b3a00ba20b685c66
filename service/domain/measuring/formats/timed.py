"""Compare the durations of tests like the times of benchmarks.

They are converted to Google Benchmark's JSON as soon as a program ends, so pairs of tests are stored, read
and judged like those of benchmarks.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from service.domain.measuring.formats.program import MAX_LISTED, RESULT, Listed, NotMeasured, ProgramFormat
from service.domain.measuring.tests.cases import CaseStatus, TestCase
from service.domain.project.build_commands import MEMORY
from service.domain.values.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from service.domain.measuring.formats.program import Output
    from service.domain.measuring.tests.cases import TestRun

SHORTEST: Final = 0.1  # seconds; GoogleTest reports whole milliseconds, so one is up to a hundredth of that
_LEAST: Final = 0.001  # seconds; GoogleTest reports no less
_ABSENT: Final = "the program did not run it"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedTests(ProgramFormat):
    """Programs that run tests; a failing test is a result."""

    nothing = "runs no test"
    # Small groups keep compared launches close together, and starting them costs little. CTest runs no test
    # if the compiled regular expression exceeds 64 KiB.
    group_size = (20, 8 << 10)

    memory: int = MEMORY

    @abstractmethod
    def parse(self, results: bytes) -> TestRun:
        """Parse the result file; raises BadResults."""

    @override
    def listed(self, output: Output, before: Collection[str] = ()) -> Listed:
        run = self._tests(output)
        seconds = {case.name: case.seconds for case in run.cases if case.status is CaseStatus.PASSED}
        if len(ran_in(run)) - len(too_short(seconds)) > MAX_LISTED:
            raise NotMeasured(f"has more than {MAX_LISTED} tests to compare")
        return Listed(ran_in(run, before), seconds)

    @override
    def read(self, output: Output, names: Collection[str]) -> bytes:
        return durations(self._tests(output), names)

    def _tests(self, output: Output) -> TestRun:
        try:
            run = self.parse(output.file)
        except BadResults as error:
            raise NotMeasured(f"{RESULT}: {error.what}") from None
        if not output.done.is_success and not any(case.has_failed for case in run.cases):
            raise NotMeasured(f"{output.done.end}, although no test failed")
        return run


def durations(run: TestRun, names: Iterable[str]) -> bytes:
    """Write the durations of these tests as Google Benchmark's JSON: one row a test, of one repetition.

    Failed and skipped tests become rows with an error or a skip; one that did not run has an error. A test
    that took less than a millisecond, or an unknown time, took one.
    """
    known = {case.name: case for case in run.cases}
    rows = [_row(known.get(name) or TestCase(name, CaseStatus.NOT_RUN, 0.0, _ABSENT)) for name in names]
    return json.dumps({"context": {}, "benchmarks": rows}, separators=(",", ":")).encode()


def _row(case: TestCase) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": case.name,
        "run_name": case.name,
        "run_type": "iteration",
        "repetitions": 1,
        "repetition_index": 0,
        "threads": 1,
        "iterations": 1,
    }
    is_disabled = case.status is CaseStatus.DISABLED  # although it was asked for
    reason = " ".join(case.message.split()) or str(CaseStatus.NOT_RUN if is_disabled else case.status)
    if case.has_failed or is_disabled:
        return row | {"error_occurred": True, "error_message": reason}
    if case.status is not CaseStatus.PASSED:
        return row | {"skipped": True, "skip_message": reason}
    seconds = max(case.seconds, _LEAST)
    # The programs report no CPU time.
    return row | {"real_time": seconds, "cpu_time": seconds, "time_unit": "s"}


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


def too_short(*sides: Mapping[str, float]) -> frozenset[str]:
    """Name the tests that take less than :data:`SHORTEST` on every side that they pass on.

    A test that takes longer on one side is compared: the change may have made it slow.
    """
    quick = {name for side in sides for name, seconds in side.items() if seconds < SHORTEST}
    return frozenset(name for name in quick if all(side.get(name, 0.0) < SHORTEST for side in sides))
