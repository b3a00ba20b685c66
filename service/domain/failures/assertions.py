"""Messages of GoogleTest's assertions, and the one line that a failure shows of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.failures.linear import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

# The lines that GoogleTest itself writes.
_OWN_LINE: Final = Pattern(
    r"^(?:\s+\S|(?:Expected|Actual|Which is|To be equal to|Value of|where)\b)|evaluates to|^C\+\+ exception|"
    r"^Ignoring case$|^element #\d|^Google Mock tried the following "
)
_NO_REASON: Final = frozenset({"Failed", ""})  # FAIL() and ADD_FAILURE(): the author's text follows
_DIFFERENCE: Final = "With diff:"  # of two texts; its lines are values
_IN_DIFFERENCE: Final = ("@@ ", "-", "+", " ")
_OF_DEATH_TEST: Final = "[  DEATH   ]"  # before each line that the dying program wrote
_TRACE: Final = "Google Test trace:"
_IN_TRACE: Final = Pattern(r"^[^:\s][^:]*:\d+: ")
# Behind a message: a report of a sanitizer, a stack, the marks of GoogleTest, and logs with a time.
_OF_PROGRAM: Final = Pattern(
    r"^(?:==|Stack trace:|\[ +[A-Z]+ +\]|\[?(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d)|[IWEF]\d{4,8} )"
)
_MOST_LINES: Final = 30
_MAX_VALUE: Final = 200  # characters; a signature has none of them, but all that follow
_VALUE: Final = Pattern(r"^(?:Which is|Actual): |, actual: ")


class AssertionMessage:
    """The message of an assertion, read line by line.

    It has the lines that GoogleTest writes, the first line of the text behind ``<<``, and the trace. The
    output of a program does not show where that text ends: of a message without it, the next line of the
    program is taken for it, unless it begins like a line of a log.
    """

    __slots__ = ("_is_difference", "_is_trace", "_lines", "_read", "_texts")

    def __init__(self, first: str = "") -> None:
        self._lines = [first.strip()] if first else []
        self._texts = 0  # lines of the author's
        self._read = 0
        self._is_difference = self._is_trace = False

    def read_own(self, line: str) -> bool:
        """Read a line if it is the reason, or GoogleTest wrote it; return whether it belongs."""
        if self._read >= _MOST_LINES:
            return False
        self._is_difference &= line.startswith(_IN_DIFFERENCE)
        if self._is_difference or line.startswith(_OF_DEATH_TEST):
            self._read += 1
            return True
        if not line.strip():
            return False
        is_reason = not self._lines or self._lines[-1] in _NO_REASON
        self._is_difference = line.rstrip() == _DIFFERENCE
        self._is_trace |= line.rstrip() == _TRACE
        if self._is_difference:
            self._read += 1
            return True
        if not (is_reason or self._is_own(line)):
            return False
        self._texts += is_reason and bool(self._lines)
        return self._add(line)

    def read_text(self, line: str) -> bool:
        """Read a line if it can be the one that the author wrote; return whether it belongs."""
        is_text = bool(line.strip()) and not _OF_PROGRAM.search(_bytes(line))
        if not is_text or self._texts or self._is_trace or self._read >= _MOST_LINES:
            return False
        self._texts += 1
        return self._add(line)

    @property
    def headline(self) -> str:
        """The lines as one: ``Expected equality of these values: x; Which is: 3; 4; after a restart``."""
        lines = self._lines
        if len(lines) > 1:
            lines = [line for line in lines if line not in _NO_REASON]
        headline = ""
        for line in map(_without_long_value, lines):
            separator = " " if headline.endswith(":") else "; "
            headline = f"{headline}{separator}{line}" if headline else line
        return headline or "Failed"

    def _is_own(self, line: str) -> bool:
        if self._is_trace:
            return line.rstrip() == _TRACE or _IN_TRACE.search(_bytes(line)) is not None
        # Behind the author's text, indented lines are the program's; with FAIL(), they are more of the text.
        is_open = not self._texts or self._lines[0] in _NO_REASON
        return is_open and _OWN_LINE.search(_bytes(line)) is not None

    def _add(self, line: str) -> bool:
        self._read += 1
        self._lines.append(line.strip())
        return True


def headline_of(lines: Iterable[str]) -> str:
    """Join the lines of a message, as :attr:`AssertionMessage.headline`."""
    message = AssertionMessage()
    for line in lines:
        if not message.read_own(line) and not message.read_text(line):
            break
    return message.headline


def _without_long_value(line: str) -> str:
    """Shorten a value, so that the headline has place for what follows."""
    if len(line) > _MAX_VALUE and (value := _VALUE.search(_bytes(line))):
        begin = len(_bytes(line)[: value[1]].decode())
        return line if len(line) <= begin + _MAX_VALUE else f"{line[: begin + _MAX_VALUE]}…"
    return line


def _bytes(line: str) -> bytes:
    return line.encode(errors="replace")
