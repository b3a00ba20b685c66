"""Failures in the output of one program under test: GoogleTest's, sanitizers' and crashes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from service.domain.failures.assertions import belongs, headline_of
from service.domain.failures.failed_tests import OPENING
from service.domain.failures.failure import Failure, FailureKind, failure_of
from service.domain.failures.line_patterns import OF_BUILDS, OF_PROGRAMS
from service.domain.failures.linear import Pattern
from service.domain.failures.log_lines import decoded
from service.domain.failures.sanitizers import SanitizerReports
from service.domain.failures.source_names import source_name
from service.domain.testing.gtest import NO_END

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MARK: Final = Pattern(r"^\[ *(RUN|OK|FAILED|SKIPPED|PASSED|-+|=+) *\] ?([^\s,]*)")
_ENDED: Final = Pattern(r"\(\d+ ms\)\s*$")
_ASSERTION: Final = Pattern(
    r"^((?:[A-Za-z]:)?[^:\s(][^:(]*)(?::(\d+): Failure|\((\d+)\): (?:Failure|error: (.+)))$|"
    r"^unknown file: Failure$"
)
_THROWN: Final = Pattern(
    r"^(?:libc\+\+abi(?:\.dylib)?: )?terminat(?:e called after throwing an instance of|"
    r"ing (?:with|due to) uncaught exception of type) ['\"]?(.+?)['\"]?(?:: (.+))?$"
)
_WHAT: Final = Pattern(r"^ *what\(\): *(.*)$")
_NEAR: Final = 100  # lines within which a signal is the end of the crash before it; a report of ASan has 60
_SIGNALS: Final = frozenset({FailureKind.CRASH, FailureKind.SANITIZER, FailureKind.MEMORY})


class ProgramOutput:
    """The output of one program, read line by line.

    Args:
        roots: the folders of the sources.
        is_build: it may also be the output of compilers, linkers and CMake.
    """

    def __init__(self, roots: Sequence[str], *, is_build: bool) -> None:
        self._roots = roots
        self._patterns = OF_BUILDS if is_build else OF_PROGRAMS
        self._reports = SanitizerReports(roots)
        self._test = ""  # the running test of GoogleTest
        self._message: list[str] | None = None  # of the assertion being read
        self._place = ""
        self._assertion: Failure | None = None  # the first one of the running test
        self._thrown: Failure | None = None  # an exception whose text may follow
        self._since_crash = _NEAR

    def read(self, text: bytes) -> Iterator[Failure]:
        """Read a line; yield the failures that end with it."""
        self._since_crash += 1
        yield from self._noted(self._reports.read(text))
        if text[:1] == b"[" and (mark := _MARK.groups(text)):
            yield from self._marked(mark[0], mark[1], text)
        elif self._message is not None and belongs(decoded(text), self._message):
            self._message.append(decoded(text))
        elif (b": Failure" in text or self._test) and (found := _ASSERTION.groups(text)):
            self._end_of_message()
            self._begin_message(*found)
        else:
            self._end_of_message()
            yield from self._noted(self._crashes(text))

    def end(self, kind: FailureKind = FailureKind.CRASH, headline: str = NO_END) -> Iterator[Failure]:
        """End the output.

        Args:
            kind: how the program ended, if it ended during a test of GoogleTest.
            headline: the same in words.
        """
        self._end_of_message()
        yield from self._noted(self._reports.end())
        yield from self._noted(self._end_of_exception())
        if self._test and (self._assertion or self._since_crash >= _NEAR):
            yield self._assertion or self._of_test(kind, self._test, headline)
        self._test, self._assertion = "", None

    def _noted(self, failures: Iterator[Failure]) -> Iterator[Failure]:
        for failure in failures:
            if failure.kind in _SIGNALS:
                self._since_crash = 0
            in_test = self._test and failure.kind in {FailureKind.CRASH, FailureKind.MEMORY}
            yield replace(failure, subject=self._test) if in_test else failure

    def _crashes(self, text: bytes) -> Iterator[Failure]:
        if b"erminat" in text and (thrown := _THROWN.groups(text)):
            yield from self._end_of_exception()
            what = f"terminate: {': '.join(part for part in thrown if part)}"
            self._thrown = failure_of(FailureKind.CRASH, "", what, f"Crash: {decoded(text).strip()}")
            return
        if self._thrown and (reason := _WHAT.groups(text)):
            known = self._thrown
            yield from self._end_of_exception(f"{known.headline}: {reason[0]}", f"{known.line}: {reason[0]}")
            return
        yield from self._end_of_exception()
        if failure := self._patterns.failure_in(text, self._roots):
            is_end = failure.kind is FailureKind.CRASH and not failure.place
            if not (is_end and self._since_crash < _NEAR):
                yield failure

    def _end_of_exception(self, headline: str = "", line: str = "") -> Iterator[Failure]:
        if known := self._thrown:
            self._thrown = None
            headline, line = headline or known.headline, line or known.line
            is_memory = "std::bad_alloc" in headline
            kind = FailureKind.MEMORY if is_memory else FailureKind.CRASH
            yield failure_of(kind, "", "out of memory" if is_memory else headline, line)

    def _marked(self, kind: str, name: str, text: bytes) -> Iterator[Failure]:
        self._end_of_message()
        if kind == "RUN":
            yield from self.end()
            self._test = name
            self._since_crash = _NEAR
        elif kind == "FAILED" and name and (name == self._test or not name.isdigit()):
            is_listed = name != self._test and not _ENDED.search(text)
            known = self._assertion if name == self._test else None
            yield known or self._of_test(FailureKind.TEST, name, "" if is_listed else "Failed")
            self._test, self._assertion = "", None
        elif name == self._test:
            self._test, self._assertion = "", None

    def _of_test(self, kind: FailureKind, name: str, headline: str) -> Failure:
        return failure_of(kind, name, headline, f"{OPENING}{name}")

    def _begin_message(self, path: str, line: str, line_of_msvc: str, text: str) -> None:
        self._message = [text] if text else []
        name = source_name(path, self._roots) if path else ""
        self._place = f"{name}:{line or line_of_msvc}" if name else ""

    def _end_of_message(self) -> None:
        if self._message is not None and not self._assertion:
            failure = self._of_test(FailureKind.TEST, self._test, headline_of(self._message))
            self._assertion = replace(failure, place=self._place) if self._test else None
        self._message = None
