"""Find the lines that a patch set adds or changes, and select the findings on them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from service.domain.building.findings import Finding

Lines: TypeAlias = Mapping[str, tuple[range, ...]]
"""Line numbers of the new side by path, as ordered ranges that neither overlap nor adjoin."""

HUNK: Final = re.compile(rb"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")
"""Header of a hunk: first line and count of the old side, then of the new side; no count stands for 1."""
_ESCAPE: Final = re.compile(rb'\\([abtnvfr"\\]|[0-7]{3})')
_ESCAPED: Final = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


def lines_in(diff: bytes) -> Lines:
    """Read the touched lines from git's unified diff, with or without context.

    Lines within a hunk are counted, because the text of an added line may look like a header. Deletions,
    binary files and mode changes touch no line. The diff needs ``--text``: otherwise a patch set could
    declare its sources binary in ``.gitattributes``.

    Raises:
        BadInput: the diff is damaged or incomplete.
    """
    touched: dict[str, list[range]] = {}
    path: str | None = None
    lines = iter(diff.split(b"\n"))
    for line in lines:
        if line.startswith(b"+++ "):
            path = _path_of(line)
        elif line.startswith(b"diff "):
            path = None
        elif hunk := HUNK.match(line):
            for number in _added_in(hunk, lines):
                if path is None:
                    raise BadInput("the diff has added lines without a file")
                _add(touched.setdefault(path, []), number)
    return {path: tuple(ranges) for path, ranges in touched.items()}


def touched(findings: Iterable[Finding], lines: Lines) -> tuple[Finding, ...]:
    """Select the findings on touched lines, in order."""
    return tuple(finding for finding in findings if _is_on(finding.line, lines.get(finding.path, ())))


def _is_on(line: int, ranges: tuple[range, ...]) -> bool:
    place = bisect_right(ranges, line, key=lambda run: run.start)
    return place > 0 and line in ranges[place - 1]


def _added_in(hunk: re.Match[bytes], lines: Iterator[bytes]) -> Iterator[int]:
    """Consume the lines of a hunk, and yield the numbers of the added ones."""
    old, number, new = int(hunk[2] or 1), int(hunk[3]), int(hunk[4] or 1)
    while old or new:
        mark = next(lines, b"")[:1]
        if mark == b"+" and new:
            yield number
            number, new = number + 1, new - 1
        elif mark == b"-" and old:
            old -= 1
        elif mark == b" " and old and new:
            number, old, new = number + 1, old - 1, new - 1
        elif mark != b"\\":  # no newline at the end of the file
            raise BadInput("the diff has a damaged or incomplete hunk")


def _add(ranges: list[range], number: int) -> None:
    """Append a line number, which exceeds all before it."""
    if ranges and ranges[-1].stop == number:
        ranges[-1] = range(ranges[-1].start, number + 1)
    else:
        ranges.append(range(number, number + 1))


def _path_of(header: bytes) -> str | None:
    """Parse the path of the new side; None if the file is deleted."""
    # Git ends a name that has blanks with a tab, and quotes a name that has control characters or quotes.
    name = header.removeprefix(b"+++ ").removesuffix(b"\t")
    if name == b"/dev/null":
        return None
    if name.startswith(b'"'):
        name = _ESCAPE.sub(_unescaped, name[1:].removesuffix(b'"'))
    if not name.startswith(b"b/"):
        raise BadInput("the diff names a file without the prefix b/")
    return name[2:].decode(errors="replace")


def _unescaped(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    return bytes([int(code, 8) & 0xFF if len(code) > 1 else _ESCAPED[code[0]]])
