"""The failures in the log of a build, by patterns of their lines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.failures.cmake_errors import CMakeErrors
from service.domain.failures.ctest_lines import OPENING, CtestLine, listed_in, status_in
from service.domain.failures.failure import MOST, Failure, FailureKind, failure_of
from service.domain.failures.line_patterns import WEAK
from service.domain.failures.linear import Pattern
from service.domain.failures.log_lines import cleaned, decoded
from service.domain.failures.program_output import ProgramOutput
from service.domain.failures.source_names import SANDBOX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_START: Final = Pattern(r"^ +Start +\d+: |^test \d+$")
_TOTAL: Final = Pattern(r"^\d+% tests passed, ")
_MOST_OUTPUTS: Final = 1000  # tests of `ctest -V -j` that run at once
_MOST_READ: Final = 1_000_000  # failures with repeats, before the log is given up
_TOO_MANY: Final = "the log names too many failures to be read to its end"


class _Ctest(NamedTuple):
    """A failed test of CTest, whose output may name the failures better."""

    failure: Failure
    inner: list[Failure]


def failures_in(log: Iterable[bytes], sources: str = "") -> Iterator[Failure]:
    """Find the failures that a log names, each once, in order.

    A failed test of CTest is the failures in its output, if it has any, each with the line of CTest. A test
    that passes on a later try is no failure. The time is linear in the length of the log.

    Args:
        log: the lines of the log; at most the first 4,096 bytes of each are looked at.
        sources: the folder of the sources on the host; in a sandbox they are in ``/src``.

    Yields:
        At most one failure more than :data:`MOST`, so that the caller sees that there are more.
    """
    root = sources.replace("\\", "/").rstrip("/")
    reading = _Reading((root, *SANDBOX) if root else SANDBOX)
    for line in log:
        reading.read(line)
        if reading.is_full:
            break
    return iter(reading.ended())


class _Reading:
    """A log being read, with the failures so far."""

    def __init__(self, roots: tuple[str, ...]) -> None:
        self._roots = roots
        self._build = ProgramOutput(roots, is_build=True)
        self._cmake = CMakeErrors(roots)
        self._ctest: _Ctest | None = None  # the last failed test, whose output follows
        self._output = ProgramOutput(roots, is_build=False)
        self._numbered: dict[int, tuple[ProgramOutput, list[Failure]]] = {}
        self._found: dict[tuple[FailureKind, str, str], Failure] = {}
        self._of_test: dict[str, list[tuple[FailureKind, str, str]]] = {}
        self._weak: Failure | None = None
        self._is_list = False  # the list of failed tests at the end
        self._read = 0

    @property
    def is_full(self) -> bool:
        """Return whether more failures would be cut off."""
        return len(self._found) > MOST or self._read > _MOST_READ

    def read(self, line: bytes) -> None:
        """Read a line."""
        text, number = cleaned(line)
        if number:
            self._read_numbered(text, number)
        elif status := status_in(text):
            self._end_of_ctest()
            self._begin_ctest(status, text)
        elif self._is_list and (listed := listed_in(text)):
            self._listed(listed)
        elif (b"Start" in text or b"test" in text) and (_START.search(text) or _TOTAL.search(text)):
            self._end_of_ctest()
            self._is_list = text[:1].isdigit()
        elif self._ctest:
            self._ctest.inner.extend(self._output.read(text))
            del self._ctest.inner[MOST + 1 :]
        else:
            self._add_all(self._cmake.read(text))
            if not self._cmake.is_open:
                self._add_all(self._build.read(text))
            if not self._weak and not self._found:
                self._weak = WEAK.failure_in(text, self._roots)

    def ended(self) -> list[Failure]:
        """End the log, and return its failures."""
        self._end_of_ctest()
        self._add_all(self._cmake.end())
        self._add_all(self._build.end())
        for output, inner in self._numbered.values():
            self._add_all(iter([*inner, *output.end()]))
        if self._read > _MOST_READ:
            self._add(failure_of(FailureKind.COMMAND, "", _TOO_MANY, _TOO_MANY))
        found = [
            failure for failure in self._found.values() if failure.headline or not self._is_known(failure)
        ]
        if not found and self._weak:
            return [self._weak]
        return [replace(each, headline=each.headline or "Failed") for each in found[: MOST + 1]]

    def _is_known(self, failure: Failure) -> bool:
        """Return whether a test that is only listed as failed is also known with a reason."""
        return any(each.subject == failure.subject and each.headline for each in self._found.values())

    def _read_numbered(self, text: bytes, number: int) -> None:
        if number not in self._numbered:
            if len(self._numbered) >= _MOST_OUTPUTS:
                return
            self._numbered[number] = (ProgramOutput(self._roots, is_build=False), [])
        output, inner = self._numbered[number]
        inner.extend(output.read(text))
        del inner[MOST + 1 :]

    def _begin_ctest(self, status: CtestLine, text: bytes) -> None:
        output, inner = self._numbered.pop(status.number, (None, []))
        if status.has_passed:
            for key in self._of_test.pop(status.name, ()):
                self._found.pop(key, None)
        if not status.has_failed:
            return
        kind, headline = status.failure()
        shown = decoded(text).strip()
        line = shown if status.is_quoted else f"{OPENING}{shown}"
        if output:
            inner = [*inner, *output.end(kind, headline)]
        self._ctest = _Ctest(failure_of(kind, status.name, headline, line), inner)

    def _end_of_ctest(self) -> None:
        if not self._ctest:
            return
        outer, inner = self._ctest
        self._ctest = None
        inner += self._output.end(outer.kind, outer.headline)
        for failure in inner or [outer]:
            subject = failure.subject or ("" if failure.kind is FailureKind.SANITIZER else outer.subject)
            self._add(replace(failure, subject=subject, line=outer.line), outer.subject)

    def _listed(self, status: CtestLine) -> None:
        if status.name not in self._of_test and status.has_failed:
            kind, headline = status.failure()
            line = f"{OPENING}{status.name} ({status.end})"
            self._add(failure_of(kind, status.name, headline, line), status.name)

    def _add_all(self, failures: Iterator[Failure]) -> None:
        for failure in failures:
            self._add(failure)

    def _add(self, failure: Failure, test: str = "") -> None:
        self._read += 1
        key = (failure.kind, failure.subject, failure.headline)
        self._found.setdefault(key, failure)
        if test:
            self._of_test.setdefault(test, []).append(key)
