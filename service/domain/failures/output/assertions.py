"""Read messages of GoogleTest's assertions, and shorten each to one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import NO_REASON
from service.domain.failures.output.linear import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

ASSERTION: Final = Pattern(
    r"^((?:[A-Za-z]:)?[^:\s(][^:(]*)(?::(\d+): Failure|\((\d+)\): (?:Failure|error:(?: (.+))?))$|"
    r"^unknown file: (?:Failure|error:(?: (.+))?)$"
)
"""The line above the message of an assertion: its file and line, or the text of an exception."""
# Lines that GoogleTest itself writes.
_OWN_LINE: Final = Pattern(
    r"^(?:\s+\S|(?:Expected|Actual|Which is|To be equal to|Value of|where)\b)|evaluates to|^C\+\+ exception|"
    r"^Ignoring case$|^element #\d|^Google Mock tried the following "
)
_NO_TEXT: Final = frozenset({NO_REASON, ""})  # FAIL() and ADD_FAILURE(): the author's text follows
_DIFFERENCE: Final = "With diff:"  # of two texts; its lines are values
_IN_DIFFERENCE: Final = ("@@ ", "-", "+", " ")
_OF_DEATH_TEST: Final = "[  DEATH   ]"  # before each line of the dying program
_OF_GMOCK: Final = "Unexpected mock function call"  # below a blank line
_TRACE: Final = "Google Test trace:"
_IN_TRACE: Final = Pattern(r"^[^:\s][^:]*:\d+: ")
# After a message: a sanitizer's report, a stack, GoogleTest's marks, and logs with a time.
_OF_PROGRAM: Final = Pattern(
    r"^(?:==|Stack trace:|\[ +[A-Z]+ +\]|\[?(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d)|[IWEF]\d{4,8} )"
)
_MOST_LINES: Final = 30
_MOST_OF_TEXT: Final = 5  # lines of the author's text
_MAX_VALUE: Final = 200  # characters; signatures drop values but need what follows
_VALUE: Final = Pattern(r"^(?:Which is|Actual): |, actual: ")


class AssertionMessage:
    """Reads the message of an assertion line by line.

    It consists of GoogleTest's own lines, the text after ``<<``, and the trace. From version 1.13 on, a blank
    line follows it. Without that or a trace, nothing shows where the text ends, so only its first line is
    kept: the next may be the program's.
    """

    __slots__ = ("_begins_blank", "_has_end", "_is_difference", "_own", "_read", "_text", "_trace")

    def __init__(self, first: str = "") -> None:
        self._own = [first.strip()] if first else []
        self._text: list[str] = []  # the author's
        self._trace: list[str] = []
        self._read = 0
        self._is_difference = self._has_end = self._begins_blank = False

    def read_own(self, line: str) -> bool:
        """Read a line if it is the reason or GoogleTest's own; return whether it belongs."""
        if self._has_end or self._read >= _MOST_LINES:
            return False
        self._read += 1
        if self._is_value(line) or self._is_above_gmock(line):
            return True
        is_other = self._begins_blank and not self._own and not line.startswith(_OF_GMOCK)
        if is_other or not line.strip():
            self._has_end = True
            return False
        if line.rstrip() == _TRACE or (self._trace and _is_in_trace(line)):
            self._trace.append(line.strip())
            return True
        if self._trace or not self._may_be_own(line):
            return False
        self._own.append(line.strip())
        return True

    def read_text(self, line: str) -> bool:
        """Read a line if it can be the author's; return whether it belongs."""
        is_over = self._has_end or bool(self._trace) or len(self._text) >= _MOST_OF_TEXT
        if is_over or not line.strip() or _OF_PROGRAM.search(_bytes(line)):
            return False
        self._text.append(line.rstrip())
        return True

    def end(self) -> None:
        """Note that the message has no more lines."""
        self._has_end = True

    @property
    def headline(self) -> str:
        """The message in one line: ``Expected equality of these values: x; Which is: 3; 4; on restart``."""
        text = self._text if self._has_end or self._trace else self._text[:1]
        lines = [*self._own, *(line.strip() for line in text), *self._trace]
        if len(lines) > 1:
            lines = [line for line in lines if line not in _NO_TEXT]
        headline = ""
        for line in map(_without_long_value, lines):
            separator = " " if headline.endswith(":") else "; "
            headline = f"{headline}{separator}{line}" if headline else line
        return headline or NO_REASON

    def _is_above_gmock(self, line: str) -> bool:
        """Return whether a line is blank and the first, as above a call that gmock did not expect."""
        self._begins_blank |= self._read == 1 and not self._own and not line.strip()
        return self._begins_blank and self._read == 1

    def _is_value(self, line: str) -> bool:
        is_more = self._is_difference and line.startswith(_IN_DIFFERENCE)
        self._is_difference = is_more or line.rstrip() == _DIFFERENCE
        return self._is_difference or line.startswith(_OF_DEATH_TEST)

    def _may_be_own(self, line: str) -> bool:
        if not self._own:
            return True
        is_over = bool(self._text) or self._own[-1] in _NO_TEXT
        return not is_over and _OWN_LINE.search(_bytes(line)) is not None


def headline_of(lines: Iterable[str]) -> str:
    """Join the lines of a message, as :attr:`AssertionMessage.headline`."""
    message = AssertionMessage()
    if all(message.read_own(line) or message.read_text(line) for line in lines):
        message.end()
    return message.headline


def _is_in_trace(line: str) -> bool:
    """Return whether a line after a trace belongs to it rather than to the next assertion."""
    text = _bytes(line)
    return _IN_TRACE.search(text) is not None and ASSERTION.search(text) is None


def _without_long_value(line: str) -> str:
    """Shorten a value, to leave room for what follows."""
    if len(line) > _MAX_VALUE and (value := _VALUE.search(_bytes(line))):
        begin = len(_bytes(line)[: value[1]].decode())
        return line if len(line) <= begin + _MAX_VALUE else f"{line[: begin + _MAX_VALUE]}…"
    return line


def _bytes(line: str) -> bytes:
    return line.encode(errors="replace")
