"""Ends: failures that say how a build ended, and not what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import FailureKind
from service.domain.failures.linear import Pattern

if TYPE_CHECKING:
    from service.domain.failures.failure import Failure

_OF_TOOLS: Final = Pattern(
    r"^(?:linker failed|(?:fatal )?error LNK112\d: .*|[^ ]+ returned \d+ exit status|"
    r"(?:fatal )?error: (?:.+ )?command failed (?:with exit code|due to signal) .*|"
    r"(?:some|all) warnings being treated as errors|Configuring incomplete, errors occurred!)$"
)
_CUT: Final = Pattern("^too many errors emitted")  # beside others too: they are not all
_TOOLS: Final = frozenset({FailureKind.COMPILE, FailureKind.LINK, FailureKind.CONFIGURE})
# The last line of an output, which the end of a command and a configured failure have in their line.
_LAST_LINE: Final = Pattern(
    r"(?:\bld returned \d+ exit status|\blinker command failed with exit code \d+.*|"
    r"compilation terminated\.?|"
    r"\b\d+ (?:error|warning)s?(?: and \d+ (?:error|warning)s?)? generated\.?|==\d+==ABORTING|"
    r"warnings being treated as errors|Configuring incomplete, errors occurred!|"
    r"SUMMARY: \w+Sanitizer: [^:/]*(?:\([^()]*\+0x[0-9a-f]+\))?)$"
)
# The functions of a report come behind a second colon. Some ends of the sanitizer itself have none.
_WITHOUT_FRAME: Final = Pattern(r"^\w+Sanitizer: [^:]*$")
_OF_SANITIZER_ITSELF: Final = Pattern("unexpected memory mapping")


def is_end_of_tool(failure: Failure) -> bool:
    """Return whether a compiler, linker or CMake reports only that there were errors before."""
    return failure.kind in _TOOLS and _matches(_OF_TOOLS, failure)


def is_weak(failure: Failure) -> bool:
    """Return whether a failure is a consequence of another one, such as an exit code."""
    return failure.kind is FailureKind.COMMAND or is_end_of_tool(failure)


def is_end(failure: Failure) -> bool:
    """Return whether a failure is the same for many faults: the end of a command, a tool or a sanitizer."""
    if failure.kind is FailureKind.SANITIZER:
        return _matches(_WITHOUT_FRAME, failure) and not _matches(_OF_SANITIZER_ITSELF, failure)
    if failure.kind is FailureKind.CONFIGURED and not failure.subject:
        return _has_last_line(failure)
    if failure.kind is FailureKind.LINK and _matches(_CUT, failure):
        return True
    return is_weak(failure)


def is_end_without_a_word(failure: Failure) -> bool:
    """Return whether not even the line of an end, which may quote the output of a command, says more."""
    return is_end(failure) and (failure.kind is not FailureKind.COMMAND or _has_last_line(failure))


def _has_last_line(failure: Failure) -> bool:
    return _LAST_LINE.search(failure.line.encode(errors="replace")) is not None


def _matches(pattern: Pattern, failure: Failure) -> bool:
    return pattern.search(failure.headline.encode(errors="replace")) is not None
