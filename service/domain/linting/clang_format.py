"""Findings of clang-format: the lines that it would change.

Read from the output of ``clang-format --dry-run --Werror``, version 14. It prints one diagnostic for each
change, so a line may have several; they become one finding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.building.findings import Finding, finding_at
from service.domain.linting.diagnostics import Roots, diagnostic_in, lines_of
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

TEXT: Final = "error: code should be clang-formatted"
_MARK: Final = "code should be clang-formatted [-Wclang-format-violations]"
# A missing file is reported without its name.
_FAULT: Final = re.compile(r"Error reading .*: .+|No such file or directory|Is a directory")


@dataclass(frozen=True, slots=True)
class FormatOutput:
    """``findings`` are one per line, in order of path and line; ``faults`` are errors of the tool itself.

    With a fault, such as an unknown key in ``.clang-format``, the tool has not checked all files.
    """

    findings: tuple[Finding, ...]
    faults: tuple[str, ...]


def read_clang_format(output: bytes, roots: Roots | None = None) -> FormatOutput:
    """Read the output, standard error included."""
    roots = roots or Roots()
    findings: set[tuple[str, int]] = set()
    faults: dict[str, None] = {}
    for line in lines_of(output):
        diagnostic = diagnostic_in(line, roots)
        if diagnostic and diagnostic.text == _MARK:
            findings.add((diagnostic.path, diagnostic.line))
        elif (diagnostic and diagnostic.is_error) or _FAULT.fullmatch(line):
            faults[plain(line)] = None
    found = (finding_at(path, line, TEXT) for path, line in sorted(findings) if path)
    return FormatOutput(tuple(finding for finding in found if finding), tuple(faults))


def by_block(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Join findings on adjacent lines of a file to one on the first, which names the last.

    For findings of one text in order of path and line.
    """
    blocks: list[list[Finding]] = []
    for finding in findings:
        last = blocks[-1][-1] if blocks else None
        if last and (last.path, last.line + 1) == (finding.path, finding.line):
            blocks[-1].append(finding)
        else:
            blocks.append([finding])
    return tuple(_joined(block[0], block[-1]) for block in blocks)


def _joined(first: Finding, last: Finding) -> Finding:
    if first == last:
        return first
    return Finding(first.path, first.line, f"{first.text} (lines {first.line} to {last.line})")
