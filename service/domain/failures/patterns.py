"""The failures in the log of a build, by patterns of their lines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.failures.cmake_errors import CMakeErrors
from service.domain.failures.failure import MOST, Failure, FailureKind, failure_of
from service.domain.failures.line_patterns import WEAK, signal_word
from service.domain.failures.linear import Pattern
from service.domain.failures.log_lines import cleaned, decoded
from service.domain.failures.program_output import ProgramOutput
from service.domain.failures.source_names import SANDBOX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OPENING: Final = "Failure of a CTest test "
_STATUS: Final = Pattern(
    r"^(Failure of a CTest test )?(?:\[[0-9TZ:.+-]+\] )? *(?:\d+/\d+ )?Test +#(\d+): (.+?) ?\.\.+ *"
    r"((?:[A-Za-z]+ )?[a-z]*\*\*\*.*|Passed.*|(?:\( http.*)?)$"
)
_START: Final = Pattern(r"^ +Start +\d+: |^test \d+$")
_TOTAL: Final = Pattern(r"^\d+% tests passed, ")
_LISTED: Final = Pattern(r"^\t? *\d+ - (.+) \(([A-Za-z ]+)\)(?: .*)?$")
_END: Final = Pattern(r"^(.*?)\*\*\*(.*?)(?: +[0-9.]+ sec.*)?$")
_NO_FAILURES: Final = ("Skipped", "Not Run (Disabled)", "Disabled")
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
    reading = _Reading((*SANDBOX, sources.rstrip("/")) if sources.strip("/") else SANDBOX)
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
        elif b"Test" in text and (status := _STATUS.groups(text)):
            self._end_of_ctest()
            self._begin_ctest(status, text)
        elif self._is_list and (listed := _LISTED.groups(text)):
            self._listed(*listed)
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

    def _begin_ctest(self, groups: tuple[str, ...], text: bytes) -> None:
        opening, number, name, status = groups
        output, inner = self._numbered.pop(int(number), (None, []))
        end = _END.groups(status.encode())
        if not end and not opening:
            if status.startswith("Passed"):
                for key in self._of_test.pop(name, ()):
                    self._found.pop(key, None)
            return
        words = " ".join(part for part in end if part).strip() if end else "Failed"
        if words.startswith(_NO_FAILURES):
            return
        kind, headline = _ctest_end(words)
        shown = decoded(text).strip()
        line = shown if opening else f"{OPENING}{shown}"
        if output:
            inner = [*inner, *output.end(kind, headline)]
        self._ctest = _Ctest(failure_of(kind, name, headline, line), inner)

    def _end_of_ctest(self) -> None:
        if not self._ctest:
            return
        outer, inner = self._ctest
        self._ctest = None
        inner += self._output.end(outer.kind, outer.headline)
        for failure in inner or [outer]:
            subject = failure.subject or ("" if failure.kind is FailureKind.SANITIZER else outer.subject)
            self._add(replace(failure, subject=subject, line=outer.line), outer.subject)

    def _listed(self, name: str, end: str) -> None:
        if name not in self._of_test and end not in {"Skipped", "Disabled"}:
            kind, headline = _ctest_end(end)
            self._add(failure_of(kind, name, headline, f"{OPENING}{name} ({end})"), name)

    def _add_all(self, failures: Iterator[Failure]) -> None:
        for failure in failures:
            self._add(failure)

    def _add(self, failure: Failure, test: str = "") -> None:
        self._read += 1
        key = (failure.kind, failure.subject, failure.headline)
        self._found.setdefault(key, failure)
        if test:
            self._of_test.setdefault(test, []).append(key)


def _ctest_end(words: str) -> tuple[FailureKind, str]:
    """Return the kind and the headline of the end of a test, in CTest's words."""
    plain = words.lower().replace("exception:", "").strip()
    match plain.split(" ", 1)[0]:
        case "timeout":
            return FailureKind.TIMEOUT, "timeout"
        case "failed":
            reason = " ".join(words.split()[1:])
            return FailureKind.TEST, f"Failed: {reason}" if reason else "Failed"
        case "not":
            return FailureKind.TEST, "Not Run"
        case "subprocess" | "child":
            return FailureKind.CRASH, signal_word(plain.split()[1] if " " in plain else "aborted")
    return FailureKind.CRASH, signal_word(plain)
