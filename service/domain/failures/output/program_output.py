"""Find the failures in the output of one program: of GoogleTest, of sanitizers, and crashes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import NO_END, NO_REASON, Failure, FailureKind, failure_of
from service.domain.failures.output.assertions import ASSERTION, AssertionMessage
from service.domain.failures.output.line_patterns import OF_BUILDS, OF_PROGRAMS
from service.domain.failures.output.linear import Pattern
from service.domain.failures.output.log_lines import decoded
from service.domain.failures.output.reasons import FailureReason, UnexplainedTest, is_explained_below
from service.domain.failures.output.sanitizer_reports import SanitizerReports
from service.domain.failures.output.signals import SIGNAL_WORDS
from service.domain.failures.output.source_names import source_name
from service.domain.failures.signature import DifferentFailures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OPENING: Final = "Failure of a GoogleTest test "
"""The words before the name of a test of GoogleTest in a message."""

_MARK: Final = Pattern(r"^\[ *(RUN|OK|FAILED|SKIPPED|PASSED|-+|=+) *\] ?([^\s,]*)")
_ENDED: Final = Pattern(r"\(\d+ ms\)\s*$")
_THROWN: Final = Pattern(
    r"^(?:libc\+\+abi(?:\.dylib)?: )?terminat(?:e called after throwing an instance of|"
    r"ing (?:with|due to) uncaught exception of type) ['\"]?(.+?)['\"]?(?:: (.+))?$"
)
_WHAT: Final = Pattern(r"^ *what\(\): *(.*)$")
# Lines of a sanitizer's report: frames, memory dumps, and the runtime's own words at the end.
_OF_REPORT: Final = Pattern(
    r"^\s*#\d+ |Sanitizer|: runtime error: |^=+$|^==\d+==|: note: |^\s*[0-9a-f]{2}(?: [0-9a-f]{2})+\b|^ *\^"
)
_REPORT_LINES: Final = 100  # ASan prints 60 lines between the middle of its report and the signal
_FEW_LINES: Final = 10  # between a message of the C or C++ library and the signal
_FATAL: Final = Pattern(
    "^(?:(?:HW)?AddressSanitizer|MemorySanitizer): |"
    r"^\w+Sanitizer: (?:SEGV|BUS|FPE|ILL|ABRT|TRAP|stack-overflow|DEADLYSIGNAL)"
)
_WORDS: Final = frozenset(SIGNAL_WORDS.values())
_ENDINGS: Final = frozenset({FailureKind.CRASH, FailureKind.MEMORY})


class ProgramOutput:
    """Reads the output of one program line by line.

    Args:
        roots: the folders of the sources.
        is_build: it may also be the output of compilers, linkers and CMake.
    """

    def __init__(self, roots: Sequence[str], *, is_build: bool) -> None:
        self._roots = roots
        self._patterns = OF_BUILDS if is_build else OF_PROGRAMS
        self._reports = SanitizerReports(roots)
        self._test = ""  # the running test of GoogleTest
        self._message: AssertionMessage | None = None  # of the assertion being read
        self._place = ""
        self._assertions = DifferentFailures()  # of the running test
        self._thrown: Failure | None = None  # an exception; its text may follow
        self._crash: Failure | None = None  # the last failure that may end the program
        self._lines_since = 0  # that failure
        self._has_crashed = False  # in the running test
        self._ends_in_report = False  # of a sanitizer
        self._reason = None if is_build else FailureReason()  # outside of such reports
        self._unexplained: UnexplainedTest | None = None  # in the output of a build
        self._has_ended = False  # GoogleTest, which names all failed tests

    def read(self, text: bytes) -> Iterator[Failure]:
        """Read a line; yield the failures that end with it."""
        self._lines_since += 1
        if not text and not self._is_open:
            return
        was_open = self._reports.is_open
        yield from self._noted(self._reports.read(text))
        is_outside = not (was_open or self._reports.is_open or _OF_REPORT.search(text))
        if is_outside and text.strip():
            self._ends_in_report = False
            if self._reason:
                self._reason.read(text)
            elif self._unexplained:
                yield from self._explanation(text)
        if text[:1] == b"[" and (mark := _MARK.groups(text)):
            yield from self._marked(mark[0], mark[1], text)
        elif self._message and self._message.read_own(decoded(text)):
            return
        elif (b": Failure" in text or self._test) and (found := ASSERTION.groups(text)):
            yield from self._end_of_message()
            self._begin_message(*found)
        else:
            yield from self._outside_of_message(text, is_outside=is_outside)

    def _outside_of_message(self, text: bytes, *, is_outside: bool) -> Iterator[Failure]:
        crashes = list(self._crashes(text))
        # A crash is never the author's text.
        is_harmless = is_outside and not crashes and not self._thrown
        if not (self._message and is_harmless and self._message.read_text(decoded(text))):
            yield from self._end_of_message()
        yield from self._noted(iter(crashes))

    @property
    def _is_open(self) -> bool:
        """Return whether a blank line may end or continue what was read."""
        return self._reports.is_open or self._message is not None or self._thrown is not None

    def end(self, kind: FailureKind = FailureKind.CRASH, headline: str = NO_END) -> Iterator[Failure]:
        """End the output.

        Args:
            kind: of the failure if the program ended during a test of GoogleTest.
            headline: of that failure.
        """
        yield from self._end_of_unexplained()
        yield from self._end_of_message()
        yield from self._noted(self._reports.end())
        yield from self._noted(self._end_of_exception())
        if self._test:
            yield from self._assertions.found
        if self._test and not self._has_crashed:
            yield self._of_test(kind, self._test, headline)
        self._test, self._assertions = "", DifferentFailures()

    def with_reason(self, failure: Failure) -> Failure:
        """Add to a failed test the lines that say why it failed."""
        return self._reason.of(failure) if self._reason else failure

    def explains(self, outer: Failure, inner: Sequence[Failure]) -> bool:
        """Return whether the failures in the output are certainly the reason for the failure of the test.

        Otherwise that counts too, so that a known failure in the output cannot hide another one. Only some
        sanitizers end a program by their report; the others only change its exit code.
        """
        kinds = {failure.kind for failure in inner}
        if outer.kind is FailureKind.TIMEOUT:
            return outer.kind in kinds
        is_near = self._lines_since <= _REPORT_LINES
        reports = [failure.headline for failure in inner if failure.kind is FailureKind.SANITIZER]
        is_ended_by_report = is_near and any(_is_fatal(headline) for headline in reports)
        if outer.kind is FailureKind.CRASH:
            is_aborted = outer.headline == "aborted" and bool(reports) and self._ends_in_report
            return is_ended_by_report or is_aborted or any(_is_signal(each, outer.headline) for each in inner)
        if FailureKind.TEST in kinds or is_ended_by_report:
            return True
        if kinds & _ENDINGS:
            return is_near
        if all(headline.startswith("runtime error: ") for headline in reports):
            return bool(reports) and self._ends_in_report
        return self._has_ended or not (self._reason and self._reason.is_like_a_failure)

    def _noted(self, failures: Iterator[Failure]) -> Iterator[Failure]:
        for failure in failures:
            is_end = failure.kind in _ENDINGS
            if is_end or failure.kind is FailureKind.SANITIZER:
                self._crash, self._lines_since = failure, 0
                self._has_crashed |= is_end or _is_fatal(failure.headline)
                self._ends_in_report = not is_end
            yield replace(failure, subject=self._test) if self._test and is_end else failure

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
        failure = self._patterns.failure_in(text, self._roots)
        if failure and is_explained_below(failure, text):
            yield from self._end_of_unexplained()
            self._unexplained = UnexplainedTest(failure)
        elif failure and not self._is_end_of_crash(failure):
            yield failure

    def _explanation(self, text: bytes) -> Iterator[Failure]:
        if self._unexplained and not self._unexplained.read(text):
            yield from self._end_of_unexplained()

    def _end_of_unexplained(self) -> Iterator[Failure]:
        if test := self._unexplained:
            self._unexplained = None
            yield test.failure

    def _is_end_of_crash(self, failure: Failure) -> bool:
        """Return whether a signal is only the end of the crash before it."""
        if not self._crash or failure.kind is not FailureKind.CRASH:
            return False
        if failure.headline not in _WORDS:
            return False
        if self._crash.kind is FailureKind.SANITIZER:
            is_last = failure.headline == "aborted" and self._ends_in_report
            return self._lines_since <= _REPORT_LINES and (is_last or _is_fatal(self._crash.headline))
        return self._lines_since <= _FEW_LINES and failure.headline in {"aborted", self._crash.headline}

    def _end_of_exception(self, headline: str = "", line: str = "") -> Iterator[Failure]:
        if known := self._thrown:
            self._thrown = None
            headline, line = headline or known.headline, line or known.line
            is_memory = "std::bad_alloc" in headline
            kind = FailureKind.MEMORY if is_memory else FailureKind.CRASH
            yield failure_of(kind, "", "out of memory" if is_memory else headline, line)

    def _marked(self, kind: str, name: str, text: bytes) -> Iterator[Failure]:
        yield from self._end_of_message()
        self._has_ended |= kind == "PASSED"
        if kind == "RUN":
            yield from self.end()
            self._test, self._has_crashed = name, False
        elif kind == "FAILED" and name and (name == self._test or not name.isdigit()):
            is_listed = name != self._test and not _ENDED.search(text)
            known = self._assertions.found if name == self._test else []
            yield from known or [self._of_test(FailureKind.TEST, name, "" if is_listed else NO_REASON)]
            self._test, self._assertions = "", DifferentFailures()
        elif name == self._test:
            self._test, self._assertions = "", DifferentFailures()

    def _of_test(self, kind: FailureKind, name: str, headline: str) -> Failure:
        return failure_of(kind, name, headline, f"{OPENING}{name}")

    def _begin_message(self, path: str, line: str, line_of_msvc: str, text: str, thrown: str) -> None:
        self._message = AssertionMessage(text or thrown)
        name = source_name(path, self._roots) if path else ""
        self._place = f"{name}:{line or line_of_msvc}" if name else ""

    def _end_of_message(self) -> Iterator[Failure]:
        """End an assertion's message; yield its failure if no test is running, as in a suite's set-up."""
        if self._message is not None:
            failure = self._of_test(FailureKind.TEST, self._test, self._message.headline)
            failure = replace(failure, place=self._place)
            if self._test:
                self._assertions.add(failure)
            else:
                yield replace(failure, line=f"{self._place}: {failure.headline}")
        self._message = None


def _is_fatal(headline: str) -> bool:
    """Return whether a report of a sanitizer ends the program."""
    return _FATAL.search(headline.encode()) is not None


def _is_signal(inner: Failure, signal: str) -> bool:
    """Return whether a failure in the output explains the signal that ended the program."""
    if inner.kind is FailureKind.MEMORY:
        return signal not in _WORDS or signal in {"aborted", "killed"}
    if inner.kind is not FailureKind.CRASH:
        return False
    # Assertions and uncaught exceptions abort the program; on Windows, CTest has other words for it.
    return (
        signal in {inner.headline, NO_END}
        or signal not in _WORDS
        or (signal == "aborted" and inner.headline not in _WORDS)
    )
