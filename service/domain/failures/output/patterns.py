"""Find the failures in the log of a build."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.failures.failure import MOST, NO_REASON, Failure, FailureKind, failure_of
from service.domain.failures.output.cmake_errors import CMakeErrors
from service.domain.failures.output.ctest_lines import OPENING, CtestLine, listed_in, status_in
from service.domain.failures.output.ends import is_mere_end, is_weak, without_ends
from service.domain.failures.output.linear import Pattern
from service.domain.failures.output.log_lines import cleaned, decoded
from service.domain.failures.output.program_output import ProgramOutput
from service.domain.failures.output.source_names import SANDBOX
from service.domain.failures.output.weak_patterns import WEAK
from service.domain.failures.signature import signature_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from service.domain.failures.failure import Fault

_START: Final = Pattern(r"^ +Start +(\d{1,7}): ")
_TOTAL: Final = Pattern(r"^\d+% tests passed, ")
_MOST_TESTS: Final = 100_000  # that `ctest -V` has begun and not ended
_MOST_READ: Final = 1_000_000  # failures with repeats, before the log is given up
_TOO_MANY: Final = "the log names too many failures to be read to its end"


class _Ctest(NamedTuple):
    """A failed test of CTest; its output may name the failures better."""

    failure: Failure
    output: ProgramOutput
    inner: _UniqueFailures


def failures_in(log: Iterable[bytes], sources: str = "") -> Iterator[Failure]:
    """Find the failures in a log, each once, in order.

    A failed test of CTest yields the failures in its output, each with the line of CTest, or else one failure
    with the lines that say why. A test that passes on a retry is not a failure. The time is linear in the
    length of the log.

    Args:
        log: the lines of the log; only the first 4,096 bytes of each are read.
        sources: the folder of the sources on the host; in a sandbox they are in ``/src``.

    Yields:
        At most one failure more than :data:`MOST`, which shows that there are more.
    """
    root = sources.replace("\\", "/").rstrip("/")
    reading = _Reading((root, *SANDBOX) if root else SANDBOX)
    for line in log:
        reading.read(line)
        if reading.is_full:
            break
    return iter(reading.ended())


class _UniqueFailures:
    """Unique failures, with the tests of CTest that they belong to."""

    __slots__ = ("_found", "read")

    def __init__(self) -> None:
        self._found: dict[Fault, tuple[Failure, set[str]]] = {}
        self.read = 0  # failures, with repeats

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Failure]:
        return (failure for failure, _ in self._found.values())

    def add(self, failures: Iterable[Failure], test: str = "") -> None:
        """Add failures, of a test if it is given."""
        for failure in failures:
            self.read += 1
            if failure.fault in self._found or len(self._found) <= MOST:
                self._found.setdefault(failure.fault, (failure, set()))[1].add(test)

    def has(self, test: str) -> bool:
        """Return whether a failure belongs to the test."""
        return any(test in tests for _, tests in self._found.values())

    def drop(self, test: str) -> None:
        """Drop the failures that belong to this test alone."""
        for fault, (_, tests) in list(self._found.items()):
            tests.discard(test)
            if not tests:
                del self._found[fault]


class _Reading:
    """Reads a log line by line, and collects its failures."""

    def __init__(self, roots: tuple[str, ...]) -> None:
        self._roots = roots
        self._build = ProgramOutput(roots, is_build=True)
        self._cmake = CMakeErrors(roots)
        self._ctest: _Ctest | None = None  # the last failed test; its output follows
        self._started: set[int] = set()  # tests of `ctest -V`, which puts their numbers before their lines
        self._numbered: dict[int, tuple[ProgramOutput, _UniqueFailures]] = {}
        self._found = _UniqueFailures()
        self._weak: Failure | None = None
        self._is_list = False  # the list of failed tests at the end
        self._runs = 0  # of CTest that ended
        self._failed: dict[str, tuple[int, int]] = {}  # by test: the number of the run, and of its tests

    @property
    def is_full(self) -> bool:
        """Return whether further failures would be dropped."""
        return len(self._found) > MOST or self._found.read > _MOST_READ

    def read(self, line: bytes) -> None:
        """Read a line."""
        text, number = cleaned(line)
        if number in self._started:
            output, inner = self._numbered.setdefault(number, (self._new_output(), _UniqueFailures()))
            inner.add(output.read(text))
        elif text and (status := status_in(text)):
            self._end_of_ctest()
            self._begin_ctest(status, text)
        elif text and self._is_list and (listed := listed_in(text)):
            self._listed(listed)
        elif b"tart" in text and (start := _START.groups(text)):
            self._end_of_ctest()
            if len(self._started) < _MOST_TESTS:
                self._started.add(int(start[0]))
        elif b"tests passed" in text and _TOTAL.search(text):
            self._end_of_ctest()
            self._is_list, self._runs = True, self._runs + 1
        elif self._ctest:
            self._ctest.inner.add(self._ctest.output.read(text))
        else:
            self._read_build(text)

    def _read_build(self, text: bytes) -> None:
        self._found.add(self._cmake.read(text))
        if not self._cmake.is_open:
            self._found.add(self._build.read(text))
        if text and not self._weak and not len(self._found):
            self._weak = WEAK.failure_in(text, self._roots)

    def _new_output(self) -> ProgramOutput:
        return ProgramOutput(self._roots, is_build=False)

    def ended(self) -> list[Failure]:
        """End the log, and return its failures."""
        self._end_of_ctest()
        self._found.add(self._cmake.end())
        self._found.add(self._build.end())
        for output, inner in self._numbered.values():
            self._found.add([*inner, *output.end()])
        found = [failure for failure in self._found if failure.headline or not self._is_known(failure)]
        found = without_ends(found)
        if self._weak and all(map(is_weak, found)) and not (found and is_mere_end(self._weak)):
            found.insert(0, self._weak)
        if self._found.read > _MOST_READ:
            found.append(failure_of(FailureKind.COMMAND, "", _TOO_MANY, _TOO_MANY))
        return [replace(each, headline=each.headline or NO_REASON) for each in found[: MOST + 1]]

    def _is_known(self, failure: Failure) -> bool:
        """Return whether a test that is listed as failed was also found with a reason."""
        return any(each.subject == failure.subject and each.headline for each in self._found)

    def _begin_ctest(self, status: CtestLine, text: bytes) -> None:
        output, inner = self._numbered.pop(status.number, (None, _UniqueFailures()))
        self._started.discard(status.number)
        if status.has_passed and self._is_retry(status):
            self._found.drop(status.name)
        if not status.has_failed:
            return
        if len(self._failed) < _MOST_TESTS:
            self._failed[status.name] = (self._runs, status.total)
        kind, headline = status.failure()
        shown = decoded(text).strip()
        line = shown if status.is_quoted else f"{OPENING}{shown}"
        self._ctest = _Ctest(
            failure_of(kind, status.name, headline, line), output or self._new_output(), inner
        )

    def _is_retry(self, status: CtestLine) -> bool:
        """Return whether this is a retry of a test that failed.

        Otherwise it is a test of the same name in another full run, such as one under a sanitizer.
        """
        run, total = self._failed.get(status.name, (0, 0))
        return run == self._runs or status.total < total

    def _end_of_ctest(self) -> None:
        if not self._ctest:
            return
        outer, output, inner = self._ctest
        self._ctest = None
        outer = output.with_reason(outer)
        inner.add(output.end(outer.kind, outer.headline))
        for failure in inner:
            subject = failure.subject or ("" if failure.kind is FailureKind.SANITIZER else outer.subject)
            self._found.add([replace(failure, subject=subject, line=outer.line)], outer.subject)
        if not output.explains(outer, tuple(inner)) and not self._is_repeated(outer):
            self._found.add([outer], outer.subject)

    def _is_repeated(self, failure: Failure) -> bool:
        """Return whether an earlier try of the test failed for the same reason, with other numbers."""
        signature = signature_of(failure)
        return any(
            each.subject == failure.subject and signature_of(each) == signature for each in self._found
        )

    def _listed(self, status: CtestLine) -> None:
        if status.has_failed and not self._found.has(status.name):
            kind, headline = status.failure()
            line = f"{OPENING}{status.name} ({status.end})"
            self._found.add([failure_of(kind, status.name, headline, line)], status.name)
