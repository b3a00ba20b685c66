"""Split logs into lines, and strip what terminals and other programs added to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.failures.output.linear import Pattern
from service.domain.values.text import ESCAPE_SEQUENCE, LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ESCAPE: Final = Pattern(ESCAPE_SEQUENCE.pattern)
# Of Jenkins and others; GitLab adds the stream.
TIME: Final = Pattern(r"^\[?\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:?\d\d)\]? ?(?:\d\d[OE][ +])?")
_NUMBER: Final = Pattern(r"^(\d{1,7}):(?: |$)")  # `ctest -V`: the number of the test


class LogLine(NamedTuple):
    """One line of a log.

    Args:
        text: without line end, escape sequences and prefixes.
        test: the number of the CTest test in its prefix; 0 if it has none.
    """

    text: bytes
    test: int = 0


def cleaned(line: bytes) -> LogLine:
    """Cut an overlong line, and strip escape sequences and prefixes."""
    text = line[:LINE_BYTES].rstrip(b"\r\n")
    if b"\x1b" in text:
        text = _ESCAPE.replaced(text, b"")
    if text[:1] in b"[2" and (stamp := TIME.search(text)):
        text = text[stamp[1] :]
    if text[:1].isdigit() and (number := _NUMBER.search(text)):
        return LogLine(text[number[1] :], int(text[: text.index(b":")]))
    return LogLine(text)


def lines_in(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Split a log into lines without ends, each cut to :data:`LINE_BYTES`; holds one chunk in memory."""
    begun = b""
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        begun = (begun + first[:LINE_BYTES])[:LINE_BYTES]
        for line in others:
            yield begun
            begun = line[:LINE_BYTES]
    if begun:
        yield begun


def decoded(text: bytes) -> str:
    """Decode a part of a line."""
    return text.decode(errors="replace")
