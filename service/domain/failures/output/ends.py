"""Decide how much a failure says: what failed, or only that something ended with an error."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import FailureKind
from service.domain.failures.output.ctest_lines import OPENING
from service.domain.failures.output.linear import Pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.failures.failure import Failure

_OF_TOOLS: Final = Pattern(
    r"^(?:linker failed|(?:fatal )?error LNK112\d: .*|[^ ]+ returned \d+ exit status|"
    r'error MSB6006: "(?i:cl|link|lib)\.exe" exited with code \d+.*|'
    r"(?:fatal )?error: \w+ command failed (?:with exit code|due to signal) .*|"
    r"(?:some|all) warnings being treated as errors|error C2220: .*|"
    r"Configuring incomplete, errors occurred!)$"
)
_OF_STEPS: Final = Pattern("^error MSB(?:3073|6006): ")  # MSBuild's, which run any program
# A crash of a tool is a fault of its own, beside those that the tool reports.
_CRASHED: Final = Pattern(
    r"^(?:fatal )?error: (?:unable to execute command: |clang frontend command failed |"
    r".+ signal terminated program \w+)"
)
_KILLED: Final = "unable to execute command: Killed"
_BY_SIGNAL: Final = " command failed due to signal "
_CTEST_OF_MSBUILD: Final = "RUN_TESTS.vcxproj"
_CUT: Final = Pattern("^too many errors emitted")  # the reported errors are not all
# Also make's and ninja's. Codes from 126 on mean a program that cannot run, or a signal.
_OF_COMMANDS: Final = Pattern(
    r"^(?:(?:exit code|Error) (?:\d{1,2}|1[01]\d|12[0-5])|build stopped: subcommand failed\.)$"
)
_TOOLS: Final = frozenset({FailureKind.COMPILE, FailureKind.LINK, FailureKind.CONFIGURE})
# Last lines of output, which ends of commands and configured failures quote.
_LAST_LINE: Final = Pattern(
    r"(?:\bld returned \d+ exit status|\blinker command failed with exit code \d+.*|"
    r"compilation terminated\.?|"
    r"\bg?make(?:\[\d+\])?: \*\*\* \[[^\]]*\] Error \d+|\bninja: build stopped: .*|"
    r"\berror MSB(?:6006|3073): .* exited with code -?\d+.*|"
    r"\b\d+ (?:error|warning)s?(?: and \d+ (?:error|warning)s?)? generated\.?|==\d+==ABORTING|"
    r"warnings being treated as errors|Configuring incomplete, errors occurred!|"
    r"SUMMARY: \w+Sanitizer: [^:/]*(?:\([^()]*\+0x[0-9a-f]+\))?)$"
)
# A report names functions after a second colon. Some failures of the sanitizer itself have none.
_WITHOUT_FRAME: Final = Pattern(r"^\w+Sanitizer: [^:]*$")
_OF_SANITIZER_ITSELF: Final = Pattern("unexpected memory mapping")
# Their headlines can be as vague as "timeout"; those of compilers and sanitizers name the fault.
_NEED_A_SUBJECT: Final = frozenset(
    {FailureKind.TEST, FailureKind.CRASH, FailureKind.TIMEOUT, FailureKind.MEMORY}
)


class KnownBy(Enum):
    """Ways for a known failure to recognise a failure without covering others."""

    SIGNATURE = "signature"
    LINE = "line"  # many faults have its signature, but patterns may match its line, such as quoted output
    NOTHING = "nothing"  # many faults have its line, too


def known_by(failure: Failure) -> KnownBy:
    """Decide what distinguishes a failure from others.

    The end of a command (``Error 2``) is the same for all faults, and so are that of a linker, a sanitizer's
    report without a function, and a time-out of something unnamed. If such a signature were known, it would
    waive new failures.
    """
    if not _is_end(failure):
        is_named = bool(failure.subject) or failure.kind not in _NEED_A_SUBJECT
        return KnownBy.SIGNATURE if is_named else KnownBy.LINE
    if failure.kind is FailureKind.SANITIZER:
        return KnownBy.LINE if failure.line.startswith(OPENING) else KnownBy.NOTHING
    says_more = failure.kind is FailureKind.COMMAND and not _has_last_line(failure)
    return KnownBy.LINE if says_more else KnownBy.NOTHING


def is_specific(failure: Failure) -> bool:
    """Return whether the signature of a failure distinguishes it from others."""
    return known_by(failure) is KnownBy.SIGNATURE


def without_ends(failures: Sequence[Failure]) -> list[Failure]:
    """Drop the end of each tool that also reports what failed.

    The end of a tool stays if only other tools reported failures, because its own reason is unknown.
    """
    named = {failure.kind for failure in failures if is_specific(failure)}
    has_tests = any(failure.line.startswith(OPENING) for failure in failures)
    is_killed = any(_KILLED in failure.line for failure in failures)

    def is_explained(failure: Failure) -> bool:
        if _is_end_of_tool(failure):
            return failure.kind in named or (is_killed and _BY_SIGNAL in failure.line)
        return has_tests and _CTEST_OF_MSBUILD in failure.line and _is_end_of_step(failure)

    return [failure for failure in failures if not is_explained(failure)]


def is_mere_end(failure: Failure) -> bool:
    """Return whether a failure says only that a command or a tool failed."""
    if failure.kind is FailureKind.COMMAND:
        return _matches(_OF_COMMANDS, failure)
    return _is_end_of_tool(failure)


def is_weak(failure: Failure) -> bool:
    """Return whether a failure may be the consequence of another, such as the end of a command."""
    if failure.kind is FailureKind.COMMAND:
        return True
    is_crash = failure.kind in _TOOLS and _matches(_CRASHED, failure)
    return is_crash or _is_end_of_tool(failure) or _is_end_of_step(failure)


def _is_end(failure: Failure) -> bool:
    """Return whether a failure is the same for many faults: the end of a command, a tool or a sanitizer."""
    if failure.kind is FailureKind.SANITIZER:
        return _matches(_WITHOUT_FRAME, failure) and not _matches(_OF_SANITIZER_ITSELF, failure)
    if failure.kind is FailureKind.CONFIGURED and not failure.subject:
        return _has_last_line(failure)
    if failure.kind is FailureKind.LINK and _matches(_CUT, failure):
        return True
    return is_weak(failure)


def _is_end_of_tool(failure: Failure) -> bool:
    """Return whether a compiler, linker or CMake reports only that there were errors."""
    return failure.kind in _TOOLS and _matches(_OF_TOOLS, failure)


def _is_end_of_step(failure: Failure) -> bool:
    return failure.kind in _TOOLS and _matches(_OF_STEPS, failure)


def _has_last_line(failure: Failure) -> bool:
    return _LAST_LINE.search(failure.line.encode(errors="replace")) is not None


def _matches(pattern: Pattern, failure: Failure) -> bool:
    return pattern.search(failure.headline.encode(errors="replace")) is not None
