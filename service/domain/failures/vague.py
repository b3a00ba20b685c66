"""Reject vague patterns: those that match lines which do not name what failed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import KILLED, Completed, StoppedBy
from service.domain.failures.output.ctest_lines import OPENING
from service.domain.failures.output.linear import PatternTable
from service.domain.failures.output.signals import SIGNALS

if TYPE_CHECKING:
    from collections.abc import Sequence

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
# `{x}` stands for what failed, and `{n}` for a number: an exit code, seconds, a CTest test, a line.
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
    "Compile error at {x}({n}): error C1: {x}",
    "Compile error at {x}:{n}:1: fatal error: {x}",
    "{x}:{n}:1: error: {x}",
    "{x}:{n}:1: warning: {x} [{x}-{x}]",
    "{x}:{n}: {x}",
    "{x}:{n}: code should be clang-formatted [-Wclang-format-violations]",
    "{x}:{n}: code should be clang-formatted: {x}",
    "{x} did not check everything: {x}",
    "Linker error: {x}",
    "Linker error: {x}: undefined reference to `{x}'",
    "Linker error: ld.lld: error: undefined symbol: {x}",
    "Linker error: {x}: multiple definition of `{x}'",
    "Linker error: collect2: error: ld returned {n} exit status",
    "Linker error: clang: error: linker command failed with exit code {n} (use -v to see invocation)",
    "CMake Error: {x}",
    "{x}:{n}: CMake Error ({x}): {x}",
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
    "{x}:{n}: runtime error: {x}",
    "{x}:{n}: LeakSanitizer: leak: {x}",
    *(
        f"{{x}}:{{n}}: {sanitizer}Sanitizer: {{x}}: {{x}}"
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
# Made-up words of every initial letter: a pattern that names something matches at most one of them.
_WORDS: Final = (
    *("abok", "bemu", "cidra", "dulo", "efno", "fasti", "gorp", "hune", "ivlo"),
    *("jeku", "kipra", "lomze", "muvi", "nerb", "obwe", "pidu", "quam", "roft"),
    *("sakle", "tuhi", "ugso", "velk", "wozi", "xemp", "yadu", "zigt"),
)
_SHAPES: Final = (
    *("{w}", "{w[0]}", "{c}", "{u}", "{w}_{w}", "{w}-{w}", "{w}.{w}", "{w}_{w}_2", "{u}_{u}", "{w}::{w}"),
    *("{c}.{c}", "{c}{c}.{c}{c}", "{c}Test.{w}_{w}2", "{c}/{c}Test.{c}/3", "{c}{c}/7.{c}"),
    *("{c}Suite.Test{c}", "{w}/{w}_1.cc", "{w}_test.cc", "{c}{c}.h"),
    *(f"{{w}}.{ending}" for ending in ("c", "cc", "cpp", "cxx", "h", "hh", "hpp")),
)
_FEW_WORDS: Final = ("efno", "kipra", "tuhi")  # in all shapes


def _names(shapes: Sequence[str], words: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(shape.format(w=word, c=word.capitalize(), u=word.upper()) for shape in shapes) for word in words
    )


_NAMES: Final = (_names(("{w}", "{c}.{c}", "{w}/{w}_1.cc"), _WORDS), _names(_SHAPES, _FEW_WORDS))
_TESTED: Final = _names(("{w}",), _FEW_WORDS)
_COMPILED: Final = _names(("{w}/{w}_1.cc",), _FEW_WORDS)
_NUMBERS: Final = frozenset({*map(str, range(256)), "600", "900", "1200", "1800", "3600", "7200", "86400"})
_NUMBER: Final = re.compile("[0-9]{1,10}")
_LOCATED: Final = re.compile(r"\{x}[:(]\{n}")  # a line of a file
_ENOUGH: Final = 2  # words; a pattern that matches whichever of them names nothing


def is_vague(pattern: Pattern) -> bool:
    """Return whether a pattern matches failures whatever failed, so that it would waive new ones.

    It matches a sample line with names of different words, or with a usual exit code, limit or line number.
    """
    table = PatternTable([pattern])  # it does not look for the place of a match, in half of the time
    if any(_is_indifferent(table, line, "1", names) for line in _LINES for names in _NAMES):
        return True
    numbers = sorted({*_NUMBERS, *_NUMBER.findall(pattern.text)})
    numbered = [(line, _COMPILED if _LOCATED.search(line) else _TESTED) for line in _LINES if "{n}" in line]
    return any(_is_indifferent(table, line, number, names) for number in numbers for line, names in numbered)


def _is_indifferent(pattern: PatternTable, line: str, number: str, words: Sequence[Sequence[str]]) -> bool:
    """Return whether a pattern matches a line with the names of two words."""
    found = 0
    for left, word in zip(range(len(words), 0, -1), words, strict=True):
        if found + left < _ENOUGH:
            return False
        found += any(pattern.matching(line.format(x=name, n=number).encode()) for name in word)
    return found >= _ENOUGH
