"""Read findings of clang-tidy and of the Clang static analyzer from clang-tidy's output, version 14.

The exit code is useless: it is 1 for a warning on an untouched line that the project treats as an error, and
0 for a ``.clang-tidy`` with an error, which disables its checks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from service.domain.building.findings import Finding, finding_at
from service.domain.failures.failure import Failure, FailureKind, failure_of
from service.domain.measuring.lint.diagnostics import Diagnostic, Roots, diagnostic_in, lines_of
from service.domain.values.text import plain

SETTINGS: Final = ".clang-tidy"
COMPILE_ERROR: Final = "clang-diagnostic-error"
_AS_ERROR: Final = "-warnings-as-errors"
_CHECKED: Final = re.compile(r"(.*) \[([\w.,+-]+)\]")
_FOLLOWS: Final = "too many errors emitted, stopping now"  # follows compile errors that have a place
_FAULT: Final = re.compile(
    r"Error parsing .*: .+|Error while trying to load a compilation database:|Error: no checks enabled\.|"
    r"LLVM ERROR: .+|PLEASE submit a bug report .+|Skipping .+\. Compile command not found\."
)


@dataclass(frozen=True, slots=True)
class TidyFinding:
    """A finding and its check; the first one if a message names several."""

    finding: Finding
    check: str


@dataclass(frozen=True, slots=True)
class TidyOutput:
    """Messages in an output, without duplicates, in order of path and line.

    Args:
        findings: warnings in the sources, including those that the project treats as errors.
        errors: compile errors in the sources (their units were not checked), and errors in a ``.clang-tidy``
            of the sources (its checks did not run).
        faults: errors outside of the sources (of the compile commands, of the tool, and of the compiler in
            other headers), so that not everything was checked.
    """

    findings: tuple[TidyFinding, ...]
    errors: tuple[Finding, ...]
    faults: tuple[str, ...]


def read_clang_tidy(output: bytes, roots: Roots | None = None) -> TidyOutput:
    """Read the output for one or more translation units, standard error included.

    A finding in a header is printed once for each unit that includes it, with different spellings of the
    path. Notes and excerpts of sources are ignored.
    """
    roots = roots or Roots()
    findings: dict[Finding, str] = {}
    errors: set[Finding] = set()
    faults: dict[str, None] = {}
    for line in lines_of(output):
        diagnostic = diagnostic_in(line, roots)
        if diagnostic and diagnostic.is_note:
            continue
        message = diagnostic and _CHECKED.fullmatch(diagnostic.text)
        if diagnostic and message:
            text, checks = message[1], [name for name in message[2].split(",") if name != _AS_ERROR]
            if COMPILE_ERROR in checks:
                _add_error(diagnostic, text, errors, faults)
            elif found := _finding(diagnostic, f"warning: {text} [{','.join(checks)}]"):
                findings.setdefault(found, checks[0] if checks else "")
        elif diagnostic and diagnostic.is_error:
            _add_error(diagnostic, diagnostic.text, errors, faults)
        elif _FAULT.fullmatch(line):
            faults[plain(line)] = None
    return TidyOutput(
        tuple(TidyFinding(found, findings[found]) for found in sorted(findings, key=_place)),
        tuple(sorted(errors, key=_place)),
        tuple(faults),
    )


def finding_failure(found: TidyFinding) -> Failure:
    """Convert a finding to a failure."""
    return _failure(FailureKind.LINT, found.finding, found.finding.text.removeprefix("warning: "))


def error_failure(error: Finding) -> Failure:
    """Convert an error of the compiler, or one in the settings, to a failure."""
    if error.path.rpartition("/")[2] == SETTINGS:
        return _failure(FailureKind.CONFIGURE, error, error.text)
    return _failure(FailureKind.COMPILE, error, error.text, "Compile error at ")


def is_missing_include(error: Finding) -> bool:
    """Return whether the compiler did not find an included file."""
    return error.text.endswith("file not found")


def _failure(kind: FailureKind, finding: Finding, headline: str, opening: str = "") -> Failure:
    place = f"{finding.path}:{finding.line}"
    return failure_of(kind, finding.path, headline, f"{opening}{place}: {headline}", place)


def _add_error(diagnostic: Diagnostic, text: str, errors: set[Finding], faults: dict[str, None]) -> None:
    if found := _finding(diagnostic, f"error: {text}"):
        errors.add(found)
    elif text != _FOLLOWS:
        faults[plain(diagnostic.printed)] = None


def _finding(diagnostic: Diagnostic, text: str) -> Finding | None:
    return finding_at(diagnostic.path, diagnostic.line, text) if diagnostic.path else None


def _place(finding: Finding) -> tuple[str, int, str]:
    return finding.path, finding.line, finding.text
