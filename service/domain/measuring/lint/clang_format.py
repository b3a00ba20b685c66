"""Read clang-format's findings from the diff between a file and its formatted form.

The diagnostics of ``clang-format --dry-run`` are not used, because version 14 reports a wrong indentation on
the line before.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.building.findings import Finding, finding_at
from service.domain.failures.failure import Failure, FailureKind, failure_of
from service.domain.measuring.lint.diagnostics import Roots, diagnostic_in, lines_of
from service.domain.measuring.lint.touched_lines import HUNK
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT: Final = "error: code should be clang-formatted"
HEADLINE: Final = "code should be clang-formatted [-Wclang-format-violations]"
"""Headline of every failure of clang-format, so that builds share a signature."""

_SHORT: Final = 100  # characters of a line that a finding quotes


@dataclass(frozen=True, slots=True)
class FormatFault:
    """Error that prevented the check of a file; ``path`` is empty if it names no source."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class _Edit:
    """Lines that clang-format replaces, beginning at ``first``; none if it only inserts lines before it."""

    first: int
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def last(self) -> int:
        """Number of the last line."""
        return self.first + max(len(self.before), 1) - 1


def read_format_diff(diff: bytes, path: str, touched: tuple[range, ...]) -> tuple[Finding, ...]:
    """Make a finding of each difference between a file and its formatted form, on its first touched line.

    A difference without touched lines, such as the place that an added ``#include`` belongs to, is reported
    on the nearest touched line, which caused it. Of a truncated diff, the complete hunks are read.

    Args:
        diff: ``diff --unified=0`` of one file.
        path: of the file, relative to the sources.
        touched: its touched lines, at least one.
    """
    by_line: dict[int, list[_Edit]] = {}
    for edit in _edits_in(diff):
        by_line.setdefault(_place_of(edit, touched), []).append(edit)
    found = (finding_at(path, line, TEXT + _advice(edits)) for line, edits in sorted(by_line.items()))
    return tuple(finding for finding in found if finding)


def format_failure(finding: Finding) -> Failure:
    """Convert a finding to a failure."""
    place = f"{finding.path}:{finding.line}"
    line = f"{place}: {finding.text.removeprefix('error: ')}"
    return failure_of(FailureKind.FORMAT, finding.path, HEADLINE, line, place)


def fault_in(errors: bytes, roots: Roots | None = None) -> FormatFault:
    """Find the first error with a place in the messages of a failed clang-format, else the first line."""
    first = ""
    for line in lines_of(errors):
        if (diagnostic := diagnostic_in(line, roots or Roots())) and diagnostic.is_error:
            place = f"{diagnostic.path}:{diagnostic.line}: " if diagnostic.path else ""
            return FormatFault(diagnostic.path, f"{place}{plain(diagnostic.text)}")
        first = first or plain(line)
    return FormatFault("", first)


def _edits_in(diff: bytes) -> Iterator[_Edit]:
    lines = iter(diff.split(b"\n"))
    for line in lines:
        if hunk := HUNK.match(line):
            removed, added = int(hunk[2] or 1), int(hunk[4] or 1)
            before, after = _side(lines, b"-", removed), _side(lines, b"+", added)
            if len(before) < removed or len(after) < added:
                return
            # For a hunk that only adds lines, diff names the line before.
            yield _Edit(int(hunk[1]) + (removed == 0), before, after)


def _side(lines: Iterator[bytes], mark: bytes, count: int) -> tuple[str, ...]:
    """Take the lines of one side of a hunk; fewer if the diff ends early."""
    taken: list[str] = []
    while len(taken) < count and (line := next(lines, None)) is not None:
        if line.startswith(mark):
            taken.append(line[1:].decode(errors="replace"))
        elif not line.startswith(b"\\"):  # no newline at the end of the file
            break
    return tuple(taken)


def _place_of(edit: _Edit, touched: tuple[range, ...]) -> int:
    """Find the first touched line of an edit, or the touched line nearest to it."""
    after = bisect_right(touched, edit.first, key=lambda run: run.start)
    if after and edit.first in touched[after - 1]:
        return edit.first
    if after < len(touched) and touched[after].start <= edit.last:
        return touched[after].start
    nearest = [touched[after - 1][-1]] if after else []
    nearest += [touched[after].start] if after < len(touched) else []
    return min(nearest, key=lambda line: min(abs(line - edit.first), abs(line - edit.last)))


def _advice(edits: list[_Edit]) -> str:
    """Describe how to format the lines of a finding, if that is short.

    It has no line numbers: a finding that moved must keep its text, so that it is not shown again.
    """
    lines = sum(max(len(edit.before), 1) for edit in edits)
    if lines > 1:
        return f" ({lines} lines)"
    (edit,) = edits
    if not edit.after:
        return ": remove the line"
    if len(edit.before) != 1 or len(edit.after) != 1:
        return ""
    old, new = edit.before[0], edit.after[0]
    if old.rstrip() == new:
        return ": remove the blanks at the end of the line"
    if old.strip() == new.strip():
        indentation = new[: len(new) - len(new.lstrip())]
        return "" if "\t" in indentation else f": indent the line by {len(indentation)} blanks"
    # Comments and pages collapse blanks, so a line with several in a row would look wrong.
    shown = plain(new.strip(), _SHORT)
    return f": write `{shown}`" if shown == new.strip() else ""
