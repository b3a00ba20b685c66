"""Messages of GoogleTest's assertions, and the one line that a failure shows of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.failures.linear import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The lines that GoogleTest itself writes. The program's own text behind them varies.
_OWN_LINE: Final = Pattern(
    r"^(?:\s+\S|(?:Expected|Actual|Which is|To be equal to|Value of|where)\b)|evaluates to|^C\+\+ exception"
)
_NO_REASON: Final = frozenset({"Failed", ""})  # FAIL() and ADD_FAILURE(): the program's text follows
_MOST_LINES: Final = 8


def belongs(line: str, message: Sequence[str]) -> bool:
    """Return whether a line continues a message."""
    if len(message) >= _MOST_LINES or not line.strip():
        return False
    is_reason = not message or message[-1] in _NO_REASON
    return is_reason or _OWN_LINE.search(line.encode(errors="replace")) is not None


def headline_of(lines: Iterable[str]) -> str:
    """Join the lines of a message: ``Expected equality of these values: x; Which is: 3; 4``."""
    message: list[str] = []
    for line in lines:
        if not belongs(line, message):
            break
        message.append(line.strip())
    if len(message) > 1:
        message = [line for line in message if line not in _NO_REASON]
    headline = ""
    for line in message:
        separator = " " if headline.endswith(":") else "; "
        headline = f"{headline}{separator}{line}" if headline else line
    return headline or "Failed"
