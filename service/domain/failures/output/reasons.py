"""Select the lines of a failed test's output that say why it failed."""

from __future__ import annotations

import hashlib
import re
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import NO_REASON, REASONS, Failure, FailureKind, failure_of
from service.domain.failures.output.line_patterns import FRAMEWORKS
from service.domain.failures.output.linear import Pattern
from service.domain.failures.output.log_lines import decoded
from service.domain.failures.signature import normalised

if TYPE_CHECKING:
    from collections.abc import Iterable

_LAST: Final = 3  # the last line usually says why, but may be a mere summary
_SHOWN: Final = 2 * _LAST
_MOST: Final = 1000  # different lines to keep; a digest stands for all further ones
_MOST_EXACT: Final = 1000  # lines to compare by the rules of signatures, which are slow
_LONGEST: Final = 140  # characters of a line, so that those shown fit a headline
_BEGINNING: Final = 120  # of a longer line
# Python's engine is faster than RE2 for these, and linear.
_NUMBER: Final = re.compile(rb"\b(?:0x[0-9a-fA-F]+|[0-9][0-9a-fA-F.:]*)")  # no number within a name
_WORD: Final = re.compile(rb"[A-Za-z0-9\x80-\xff]")
_NEVER_A_REASON: Final = re.compile(
    rb"\[ *(?:RUN|OK|FAILED|SKIPPED|PASSED|DISABLED|-+|=+) *\]|"  # GoogleTest
    # CTest: around the output of `ctest -V`, and after output that is too long
    rb"test \d+$|(?:Test command|Working Directory|Environment variables|Test timeout computed to be): |"
    rb"The rest of the test output was removed since it exceeds the threshold|"
    rb"(?:real|user|sys)\s+\d+m[\d.]+s$"  # bash
)
_LIKE_A_FAILURE: Final = Pattern(
    r"(?i)\b(?:not ok|fail(?:s|ed|ures?|ing)?|errors?|wrong|assert\w*|mismatch\w*|expect(?:ed|s)?|"
    r"panic\w*|fatal)\b"
)
_EXCEPTION: Final = Pattern(r"^(?:\w+[.:]+)*[A-Z]\w*(?:Error|Exception)\b(?:: |$)")
_EXPLAINED_BELOW: Final = Pattern(r"^not ok \d|^(?:FAIL|ERROR): \w+ \(")
_NEXT_RESULT: Final = Pattern(
    r"^(?:not )?ok \d|^\d+\.\.\d|^# (?:Looks like|(?:[Ff]ailed \d|tests|pass|fail|TOTAL)\b)|"  # TAP
    r"^=+$|^Ran \d+ tests? in |^[A-Z]+: "  # unittest, Automake
)
_MOST_LINES: Final = 100  # of a traceback
_WORDS_OF_FRAMEWORKS: Final = (b"Error", b"Exception", b"CHECK", b"REQUIRE")
# Letters that no rule of signatures takes for a number.
_LETTERS: Final = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")

_Line = tuple[int, bytes]


class FailureReason:
    """Collects the lines of a test's output that say why it failed.

    These are the lines in which a test framework or an exception reports a failure, others that look like a
    failure, and the last ones. Lines with the same signature count once.
    """

    __slots__ = ("_dropped", "_exact", "_failures", "_last", "_read", "_rest", "is_like_a_failure")

    def __init__(self) -> None:
        self._read = 0
        self._exact = 0
        self._failures: dict[str, _Line] = {}
        self._last: dict[bytes, _Line] = {}
        self._dropped = 0
        self._rest = hashlib.sha256()  # of the dropped lines
        self.is_like_a_failure = False  # some line

    def read(self, text: bytes) -> None:
        """Read a line outside of sanitizer reports."""
        is_like_a_failure = _LIKE_A_FAILURE.search(text) is not None
        self.is_like_a_failure |= is_like_a_failure
        if not _WORD.search(text) or _NEVER_A_REASON.match(text):
            return
        self._read += 1
        line = (self._read, text.strip())
        alike = _NUMBER.sub(b"N", line[1])
        self._last.pop(alike, None)
        self._last[alike] = line
        if len(self._last) > _LAST:
            del self._last[next(iter(self._last))]
        is_worth_a_search = is_like_a_failure or any(word in text for word in _WORDS_OF_FRAMEWORKS)
        is_named = is_worth_a_search and (FRAMEWORKS.is_any_in(text) or _EXCEPTION.search(text) is not None)
        if is_named or is_like_a_failure:
            self._add(line, alike, is_named=is_named)

    def _add(self, line: _Line, alike: bytes, *, is_named: bool) -> None:
        """Add a line that reports a failure; of equal ones, keep a framework's first, or else the last."""
        self._exact += 1
        key = normalised(decoded(line[1])) if self._exact <= _MOST_EXACT else decoded(alike)
        if key not in self._failures and len(self._failures) >= _MOST:
            self._dropped += 1
            self._rest.update(alike + b"\n")
        elif not is_named or key not in self._failures:
            self._failures[key] = line

    def of(self, failure: Failure) -> Failure:
        """Add the reason to a failed test; crashes, time-outs and lack of memory need none."""
        is_failed = failure.kind is FailureKind.TEST and failure.headline.startswith(NO_REASON)
        if not is_failed or not self._last:
            return failure
        stated = failure.headline.removeprefix(NO_REASON).removeprefix(": ")
        parts = [stated] if stated else []
        parts += self._joined()
        headline = f"{NO_REASON}: {REASONS.join(parts)}"
        return failure_of(failure.kind, failure.subject, headline, failure.line, failure.place)

    def _joined(self) -> list[str]:
        """Return the last lines, and a digest of those before them, since other lines are another reason."""
        last = {normalised(decoded(text)): (number, text) for number, text in self._last.values()}
        chosen = sorted({**last, **self._failures}.values(), key=itemgetter(0))
        before, shown = chosen[:-_SHOWN], chosen[-_SHOWN:]
        parts = [_shortened(decoded(text)) for _, text in shown]
        if before:
            marked = [normalised(decoded(text)) for _, text in before]
            if self._dropped:
                marked.append(self._rest.hexdigest())
            parts.append(f"and {len(before) + self._dropped} more, {_mark_of(marked)}")
        return parts


class UnexplainedTest:
    """A failed test of unittest or TAP; the lines after it say why."""

    __slots__ = ("_failure", "_lines", "_reason")

    def __init__(self, failure: Failure) -> None:
        self._failure = failure
        self._reason = FailureReason()
        self._lines = 0

    def read(self, text: bytes) -> bool:
        """Read a line; return whether the next one may also belong to the test."""
        self._lines += 1
        if self._lines > _MOST_LINES or _NEXT_RESULT.search(text):
            return False
        self._reason.read(text)
        return True

    @property
    def failure(self) -> Failure:
        """The failure, with the reason so far."""
        return self._reason.of(self._failure)


def is_explained_below(failure: Failure, text: bytes) -> bool:
    """Return whether the lines after that of a failed test say why it failed."""
    is_bare = failure.kind is FailureKind.TEST and failure.headline == NO_REASON
    return is_bare and _EXPLAINED_BELOW.search(text) is not None


def _shortened(text: str) -> str:
    """Shorten a long line, independently of the lengths of its numbers."""
    if len(text) <= _LONGEST:
        return text
    whole = normalised(text)
    return whole if len(whole) <= _LONGEST else f"{whole[:_BEGINNING]}… {_mark_of([whole])}"


def _mark_of(texts: Iterable[str]) -> str:
    """Return a digest of texts in any order, in letters that no rule replaces."""
    whole = "\n".join(sorted(set(texts)))
    return hashlib.sha256(whole.encode(errors="replace")).hexdigest()[:8].translate(_LETTERS)
