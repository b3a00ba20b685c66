"""Reject vague patterns: those that match lines which do not name what failed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import KILLED, Completed, StoppedBy
from service.domain.failures.output.ctest_lines import OPENING
from service.domain.failures.output.signals import SIGNALS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.failures.output.linear import Pattern

_ENDS_BY_SIGNAL: Final = (  # in CTest's words
    *(
        f"{program} {end}"
        for program in ("Subprocess", "Child")
        for end in ("aborted", "killed", "terminated")
    ),
    "Segmentation fault",
    "Bus error",
    "Broken pipe",
    "Hangup",
    "Trace/breakpoint trap",
    "Bad system call",
    "Alarm clock",
)
_ENDS_OF_CTEST: Final = (
    *("***Failed", "***Not Run", "***Timeout"),
    *(f"***Exception: {word}" for word in ("SegFault", "Illegal", "Interrupt", "Numerical", "Other")),
    *(f"{word}***Exception:" for word in _ENDS_BY_SIGNAL),
    *(f"Exit code 0x{code}***Exception:" for code in ("c0000005", "c0000374", "c0000409", "80000003")),
    "***Failed  Error regular expression found in output. Regex=[{x}]",
    "***Failed  Required regular expression not found. Regex=[{x}]",
)
_LISTED_BY_CTEST: Final = (
    *("Failed", "Not Run", "Timeout", "SEGFAULT", "ILLEGAL", "INTERRUPT", "NUMERICAL", "OTHER_FAULT"),
    "BAD_COMMAND",
    *_ENDS_BY_SIGNAL,
)
# `{x}` stands for what failed, and `{n}` for an exit code, a number of seconds or the number of a CTest test.
_OF_TESTS: Final = (
    f"{OPENING}{{x}}",
    f"{OPENING}{{x}}: {{x}}",
    *(f"{OPENING}{{x}} ({end})" for end in _LISTED_BY_CTEST),
    *(f"{OPENING}{{n}}/{{n}} Test #{{n}}: {{x}} ....{end} {{n}}.00 sec" for end in _ENDS_OF_CTEST),
    *(
        f"{OPENING}{{n}}/{{n}} Test{blanks}#{{n}}: {{x}} ....***Failed{blanks}  {{n}}.00 sec"
        for blanks in (" ", "  ", "   ")
    ),
    "Failure of a GoogleTest test {x}",
    "Failure of a test {x}",
    "[  FAILED  ] {x} (1 ms)",
    "not ok 1 - {x}",
    "FAIL: {x} (exit status: {n})",
    "FAIL: {x} ({x})",
    "ERROR: {x} ({x})",
    "FAILED {x}::{x} - {x}",
    "{x}: Failed",
)
_OF_COMPILERS: Final = (
    "Compile error at {x}(1): error C1: {x}",
    "Compile error at {x}:1:1: fatal error: {x}",
    "{x}:1:1: error: {x}",
    "{x}:1:1: warning: {x} [{x}-{x}]",
    "{x}:1: {x}",
    "{x}:1: code should be clang-formatted [-Wclang-format-violations]",
    "{x}:1: code should be clang-formatted: {x}",
    "{x} did not check everything: {x}",
    "Linker error: {x}",
    "Linker error: {x}: undefined reference to `{x}'",
    "Linker error: ld.lld: error: undefined symbol: {x}",
    "Linker error: {x}: multiple definition of `{x}'",
    "Linker error: collect2: error: ld returned {n} exit status",
    "Linker error: clang: error: linker command failed with exit code {n} (use -v to see invocation)",
    "CMake Error: {x}",
    "{x}:1: CMake Error ({x}): {x}",
    "-- Configuring incomplete, errors occurred!",
)
_OF_PROGRAMS: Final = (
    "Crash: {x}",
    "Crash: {x}: Killed",
    *(f"Crash: {signal} (core dumped)" for signal in SIGNALS),
    "Crash: terminate called after throwing an instance of '{x}': {x}",
    "Out of memory: {x}: virtual memory exhausted",
    "Out of memory: {x}",
    "Time-out: {x}",
    "Time-out: {x}: stopped after {n} s, {x}",
    "Time-out: Build timed out (after {n} minutes). Marking the build as aborted.",
    "{x}: timeout",
    "{x}:1: runtime error: {x}",
    "{x}:1: LeakSanitizer: leak: {x}",
    *(
        f"{{x}}:1: {sanitizer}Sanitizer: {{x}}: {{x}}"
        for sanitizer in ("Address", "HWAddress", "Memory", "Thread", "DataFlow", "UndefinedBehavior")
    ),
)
_DIGITS: Final = re.compile("[0-9]+")
_ENDS: Final = tuple(_DIGITS.sub("{n}", Completed(code, 0).end) for code in (1, KILLED))
_STOPS: Final = tuple(_DIGITS.sub("{n}", Completed(1, 0, limit).end) for limit in StoppedBy)
_LAST_LINES: Final = (  # of compilers, linkers and sanitizers, after what they found
    "{n} error generated.",
    "{n} errors generated.",
    "{n} warnings and {n} errors generated.",
    "compilation terminated.",
    "=={n}==ABORTING",
    "collect2: error: ld returned {n} exit status",
    "{x}: all warnings being treated as errors",
    "SUMMARY: AddressSanitizer: {x}",
    "SUMMARY: ThreadSanitizer: {x}",
)
_OF_COMMANDS: Final = (
    *_LAST_LINES,
    *(f"{{x}} ended with exit code {{n}}: {line}" for line in _LAST_LINES),
    *(
        f"{{x}} ended with {end}{more}"
        for end in _ENDS
        for more in ("", ": {x}", " and left no results: {x}")
    ),
    *(f"{phase} failed: {end}" for phase in ("configure", "compile") for end in (*_ENDS, *_STOPS)),
    *(f"{{x}} was {stop}{during}" for stop in _STOPS for during in ("", " during {x}")),
    "{x}: no test ran",
    "no test ran",
    "no test ran: all 1 tests are skipped or disabled",
    "the log names too many failures to be read to its end",
    "make: *** [Makefile:1: {x}] Error {n}",
    "ninja: build stopped: subcommand failed.",
    "{x}: {x}",
)
_LINES: Final = (*_OF_TESTS, *_OF_COMPILERS, *_OF_PROGRAMS, *_OF_COMMANDS)
_THINGS: Final = ("x", "Xxx.Xxx", "xxx/xxx_1.cc")
_NUMBERS: Final = frozenset({*map(str, range(256)), "600", "900", "1200", "1800", "3600", "7200", "86400"})
_NUMBER: Final = re.compile("[0-9]{1,10}")


def is_vague(pattern: Pattern) -> bool:
    """Return whether a pattern matches failures whatever failed, so that it would waive new ones."""
    return any(pattern.search(line.encode()) is not None for line in _lines(pattern.text))


def _lines(pattern: str) -> Iterator[str]:
    """Yield sample lines, with usual exit codes and limits, and with the numbers in the pattern."""
    for line in _LINES:
        yield from (line.format(x=thing, n=1) for thing in _THINGS)
    for number in sorted({*_NUMBERS, *_NUMBER.findall(pattern)}):
        yield from (line.format(x="x", n=number) for line in _LINES if "{n}" in line)
