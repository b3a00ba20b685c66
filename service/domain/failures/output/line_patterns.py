"""Match single lines with the built-in patterns of failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.failures.failure import NO_REASON, Failure, FailureKind, failure_of
from service.domain.failures.output.linear import Pattern, PatternTable
from service.domain.failures.output.log_lines import decoded
from service.domain.failures.output.signals import SIGNALS, signal_headline
from service.domain.failures.output.source_names import source_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_QUOTE: Final = "(?:[`'\"]|‘|’|“|”)"
_LINKERS: Final = r"(?:ld\.lld|ld64\.lld|lld-link|wasm-ld|ld\.gold|mold|lto1|lto-wrapper)(?:-\d+)?(?:\.exe)?"
_PATH: Final = r"((?:[A-Za-z]:[/\\])?[^\s:][^:]*?)"
ANY_SIGNAL: Final = "|".join((*SIGNALS, "segmentation fault", "Abort trap", "Trace/BPT trap"))


class Builtin(NamedTuple):
    """A pattern and the texts of its failure, in which ``{1}`` is the first group.

    Args:
        kind: of the failure.
        pattern: for a whole line or a part of it.
        opening: goes before the line in a message.
        headline: a template.
        subject: a template.
        path: the number of the group that is a path; 0: none.
        line: the number of the group that is a line number; 0: none.
    """

    kind: FailureKind
    pattern: Pattern
    opening: str
    headline: str
    subject: str = ""
    path: int = 0
    line: int = 0


def builtin(
    kind: FailureKind, pattern: str, headline: str, subject: str = "", path: int = 0, line: int = 0
) -> Builtin:
    """Make a built-in pattern, with the opening of its kind."""
    # `Compile error at` needs a place after it.
    opening = "" if kind is FailureKind.COMPILE and not path else OPENINGS[kind]
    return Builtin(kind, Pattern(pattern), opening, headline, subject, path, line)


OPENINGS: Final[Mapping[FailureKind, str]] = {
    FailureKind.COMPILE: "Compile error at ",
    FailureKind.LINK: "Linker error: ",
    FailureKind.CONFIGURE: "",
    FailureKind.LINT: "",
    FailureKind.TEST: "",
    FailureKind.FORMAT: "",
    FailureKind.COMMAND: "",
    FailureKind.CRASH: "Crash: ",
    FailureKind.MEMORY: "Out of memory: ",
    FailureKind.TIMEOUT: "Time-out: ",
}
"""The words before a line of the log in a message."""
_CRASHES: Final = (
    builtin(FailureKind.MEMORY, r"^ *what\(\): +std::bad_alloc", "out of memory"),
    builtin(
        FailureKind.CRASH,
        rf"^(?:([^ :]+): )?{_PATH}:(\d+): (?:.+: )?Assertion {_QUOTE}(.+?){_QUOTE} failed\.?",
        "Assertion {4} failed in {2}",
        "{1}",
        path=2,
        line=3,
    ),
    builtin(
        FailureKind.CRASH,
        r"Assertion failed: \(?(.+?)\)?, (?:function .+?, )?file (.+?), line (\d+)",
        "Assertion {1} failed in {2}",
        "{2}",
        path=2,
        line=3,
    ),
    # musl, Bionic, Newlib
    builtin(
        FailureKind.CRASH,
        r"^Assertion failed: (.+) \(([^ :]+): .+: (\d+)\)$",
        "Assertion {1} failed in {2}",
        "{2}",
        2,
        3,
    ),
    builtin(
        FailureKind.CRASH,
        rf'^{_PATH}:(\d+): .+: assertion "(.+)" failed$',
        "Assertion {3} failed in {1}",
        "{1}",
        1,
        2,
    ),
    builtin(
        FailureKind.CRASH,
        r'^assertion "(.+)" failed: file "(.+?)", line (\d+)',
        "Assertion {1} failed in {2}",
        "{2}",
        2,
        3,
    ),
    # glog and its successors: `F0224 16:13:57.042 123 a.cc:12] Check failed: x == y (3 vs. 4)`
    builtin(
        FailureKind.CRASH,
        r"^F\d{4,8} [\d:.]+ +\d* *([^ :]+):(\d+)\] (.+?)(?: \(.* vs\. .*\))?$",
        "{3} in {1}",
        "{1}",
        path=1,
        line=2,
    ),
    builtin(
        FailureKind.CRASH,
        r"^(?:libc\+\+abi(?:\.dylib)?: )?(terminat(?:e called without an active exception|ing due to .*)|"
        r"pure virtual method called|(?:libc\+\+abi: )?Pure virtual function called!)",
        "{1}",
    ),
    builtin(
        FailureKind.CRASH,
        r"^(?:\*\*\* Error in .*?: )?((?:double free or corruption|free\(\): |malloc\(\): |realloc\(\): |"
        r"corrupted (?:size vs\. prev_size|double-linked list)|terminate called recursively|"
        r"The futex facility returned an unexpected error|munmap_chunk\(\): |malloc_consolidate\(\): |"
        r"\*\*\* (?:stack smashing|buffer overflow) detected \*\*\*)[^0]*?)"
        r"(?:: 0x.*|:(?: <unknown>)? terminated)?$",
        "{1}",
    ),
    builtin(
        FailureKind.CRASH,
        rf"^(?:.*: )?(?:line \d+: *)?(?:\d+ )?({ANY_SIGNAL})(?:: \d+)?(?: *\(core dumped\) *|  +|$)(\S*)",
        "signal {1}",
        "{2}",
        path=2,
    ),
    builtin(
        FailureKind.CRASH,
        r"(?i)(?:\*\*\* |caught |fatal |received |(?:killed|terminated|died|exited|crashed) (?:by|with|on) )"
        r"(?:fatal )?signal:? ?\(?(?:(?:\d+[ (:,]+)?(SIG[A-Z]+\d?)|(\d+))",
        "signal {1}{2}",
    ),
    builtin(FailureKind.CRASH, r"^\*\*\* (SIG[A-Z]+) \(@0x", "signal {1}"),
    builtin(FailureKind.CRASH, r"^Fatal glibc error: (?:\S+:\d+ )?(.+)$", "{1}"),
    # zsh
    builtin(
        FailureKind.CRASH,
        r"^(?:\[\d+\] +(?:\d+ |[+-] )?|zsh: )(segmentation fault|abort|bus error)"
        r"(?: \(core dumped\))? +(\S+)",
        "signal {1}",
        "{2}",
        path=2,
    ),
    builtin(
        FailureKind.CRASH,
        r"^Unhandled exception at 0x[0-9a-fA-F]+(?: \(.+?\))? in ([^ :]+)(?:\.exe)?: (.+)$",
        "Unhandled exception: {2}",
        "{1}",
        path=1,
    ),
)
_CHECK: Final = r"(?:REQUIRE|CHECK)(?:_[A-Z_]+)?\( ?.* ?\)"
# The tests of GoogleTest and CTest need more than one line, and are read elsewhere.
_FRAMEWORKS: Final = (
    builtin(  # Boost.Test
        FailureKind.TEST, rf'^{_PATH}\((\d+)\): (?:fatal )?error: in "(.+?)": (.+)$', "{4}", "{3}", 1, 2
    ),
    builtin(  # doctest
        FailureKind.TEST,
        rf"^{_PATH}(?::|\()(\d+)\)?: (?:FATAL )?ERROR: ({_CHECK}) is NOT correct!$",
        "{3}",
        "",
        1,
        2,
    ),
    builtin(FailureKind.TEST, rf"^  ({_CHECK})$", "{1}"),  # Catch2
    builtin(FailureKind.TEST, r"^FAILED ([^ ]+::[^ ]+)(?: - (.+))?$", f"{NO_REASON}: {{2}}", "{1}"),  # pytest
    builtin(
        FailureKind.TEST, r"^(?:FAIL|ERROR): (\w+) \((\w+(?:\.\w+)*)\)$", NO_REASON, "{2}.{1}"
    ),  # unittest
    builtin(FailureKind.TEST, r"^not ok \d+(?: -)? ([^#]+?)(?: # time=.*)?$", NO_REASON, "{1}"),  # TAP
    builtin(
        FailureKind.TEST, r"^FAIL: ([^ ]*[./_-][^ ]*)(?: \(exit status: \d+\))?$", NO_REASON, "{1}"
    ),  # Automake
)
_MEMORY: Final = (
    builtin(FailureKind.MEMORY, r"(?:^|: |virtual )memory exhausted", "out of memory"),
    builtin(
        FailureKind.MEMORY,
        r"internal compiler error: Killed(?: signal terminated program| \(program) (\w+)|"
        r"unable to execute command: Killed|terminated with signal 9 \[Killed\]",
        "out of memory",
        "{1}",
    ),
    builtin(FailureKind.MEMORY, r"^MemoryError|OOM killer", "out of memory"),
    builtin(FailureKind.MEMORY, r"error: Killed signal terminated program (\w+)", "out of memory", "{1}"),
    builtin(FailureKind.MEMORY, r"Out of memory: Kill(?:ed)? process \d+ \((.+?)\)", "out of memory", "{1}"),
    builtin(FailureKind.MEMORY, r"oom-kill|Memory cgroup out of memory", "out of memory"),
    builtin(
        FailureKind.MEMORY,
        r"^LLVM ERROR: out of memory|error C10(?:60|76)|compiler is out of heap",
        "out of memory",
    ),
    builtin(FailureKind.MEMORY, r"(?:^|: )out of memory allocating \d+ bytes", "out of memory"),
)
_TIMEOUTS: Final = (
    builtin(
        FailureKind.TIMEOUT,
        r"^Build timed out|^timeout: sending signal|^Timeout has been exceeded",
        "timeout",
    ),
    builtin(FailureKind.TIMEOUT, r"Cancelling nested steps due to timeout", "timeout"),
    builtin(
        FailureKind.TIMEOUT,
        r"execution took longer than \d|exceeded the maximum execution time of|Terminated due to timeout|"
        r"^No output has been received in the last ",
        "timeout",
    ),
    # Benchgate's own words
    builtin(FailureKind.TIMEOUT, r"^(?:(.+): )?stopped after [\d.]+ s(?:, |$)", "timeout", "{1}"),
    builtin(FailureKind.TIMEOUT, r"(?i)\btimed out after \d+", "timeout"),
)
_LINKING: Final = (
    builtin(
        FailureKind.LINK,
        rf"undefined reference to (?:symbol )?{_QUOTE}(.+?){_QUOTE}?$",
        "undefined reference",
        "{1}",
    ),
    builtin(
        FailureKind.LINK,
        r"error: undefined (?:hidden |protected |internal )?symbol: (.+)$",
        "undefined reference",
        "{1}",
    ),
    builtin(FailureKind.LINK, r'^ +"(.+)", referenced from:', "undefined reference", "{1}"),
    builtin(
        FailureKind.LINK,
        rf"multiple definition of {_QUOTE}(.+?){_QUOTE}(?:[;,]|$)",
        "multiple definition",
        "{1}",
    ),
    builtin(
        FailureKind.LINK,
        rf"duplicate symbol:? {_QUOTE}?(.+?){_QUOTE}?(?: in:)?$",
        "multiple definition",
        "{1}",
    ),
    builtin(
        FailureKind.LINK,
        r"(?:cannot find|unable to find library|library not found for) (-l[^ :]+|[^ :]+\.(?:a|o|so)\b[^ :]*)",
        "library not found",
        "{1}",
    ),
    builtin(
        FailureKind.LINK,
        r"^(?:\d+>)?(?:.* )?: ((?:fatal )?error LNK(?:10|11[03-9]|1[2-9]|2)\d+: .+?)(?: \[[^\[]*proj\])?$",
        "{1}",
    ),
    builtin(FailureKind.LINK, r"(relocation truncated to fit: \w+) against (?:.*)$", "{1}"),
    builtin(FailureKind.LINK, rf"(?:^|/){_LINKERS}: (?:fatal )?error: (.+)$", "{1}"),
    builtin(
        FailureKind.LINK,
        r"(?:^|/)(?:ld|ld\.bfd)(?:\.exe)?: (.*(?:error adding symbols|can ?not be used when making|"
        r"file not recognized|file format not recognized|undefined symbol|library '.+' not found|"
        r"dangerous relocation).*)$",
        "{1}",
    ),
    # how linkers exit
    builtin(
        FailureKind.LINK,
        r"collect2: (?:fatal )?error: |linker command failed|symbol\(s\) not found for architecture|"
        r"final link failed: ",
        "linker failed",
    ),
    builtin(FailureKind.LINK, r"((?:fatal )?error LNK112\d: .+)$", "{1}"),
    builtin(
        FailureKind.LINK,
        r'(error MSB6006: "(?i:link|lib)\.exe" exited with code -?\d+)',
        "{1}",
    ),
)
_COMPILING: Final = (
    builtin(FailureKind.COMPILE, r"^\w+: ((?:some|all) warnings being treated as errors)$", "{1}"),
    builtin(
        FailureKind.FORMAT, rf"^{_PATH}:(\d+):\d+: (.+\[-Wclang-format-violations\])$", "{3}", "{1}", 1, 2
    ),
    builtin(
        FailureKind.LINT,
        rf"^{_PATH}:(\d+):\d+: ((?:error|warning): .+ \[[a-z][\w.]*-[\w.,-]+\])$",
        "{3}",
        "{1}",
        1,
        2,
    ),
    builtin(
        FailureKind.COMPILE,
        rf"^{_PATH}:(\d+)(?::\d+)?: ((?:fatal )?error: .+|internal compiler error: .+)$",
        "{3}",
        "{1}",
        1,
        2,
    ),
    builtin(
        FailureKind.COMPILE,
        r"^(?: *\d+>)?(?:Compile error at )?([^ (][^(]*)\((\d+)(?:,\d+)?\) ?: "
        r"((?:fatal )?error(?: [A-Z]+\d+| #\d+(?:-D)?)? ?: .+?)(?: \[[^\[]*proj\])?$",
        "{3}",
        "{1}",
        1,
        2,
    ),
    builtin(FailureKind.COMPILE, r'^"(.+?)", line (\d+): (error(?: #\d+(?:-D)?)?: .+)$', "{3}", "{1}", 1, 2),
    builtin(FailureKind.COMPILE, rf"^{_PATH}:(\d+): (Error: .+)$", "{3}", "{1}", 1, 2),  # an assembler
    builtin(FailureKind.COMPILE, r"^(?:<command-line>: ((?:fatal )?error: .+)|nvcc fatal +: .+)$", "{1}"),
    builtin(
        FailureKind.COMPILE,
        r"^(?:MSBUILD|CUSTOMBUILD|EXEC) : ((?:fatal )?error(?: [A-Z]+\d+)? ?: .+?)(?: \[[^\[]*proj\])?$",
        "{1}",
    ),
    builtin(
        FailureKind.COMPILE,
        r"^(?:\d+>)?[\w.+/-]*(?:g\+\+|gcc|clang|clang\+\+|cc|c\+\+|cc1plus|cc1|cl|nvcc)(?:-\d+)?(?:\.exe)?"
        r" ?: ((?:fatal )?(?:Command line )?error(?: [CD]\d+)? ?: .+)$",
        "{1}",
    ),
)
_CONFIGURING: Final = (
    builtin(FailureKind.CONFIGURE, r"^-- (Configuring incomplete, errors occurred!)", "{1}"),
    builtin(FailureKind.CONFIGURE, rf"^{_PATH}:(\d+):\d+: (ERROR: .+)$", "{3}", "{1}", 1, 2),
    builtin(FailureKind.CONFIGURE, r"^(?:configure|autoreconf|automake|aclocal): (error: .+)$", "{1}"),
    builtin(
        FailureKind.COMPILE,
        r"^(?:ninja: error|(?:g?make)(?:\[\d+\])?: \*\*\*):? (.*(?:no known rule|No rule to make).+)$",
        "{1}",
    ),
)


class Builtins:
    """A group of patterns; the first that matches counts."""

    __slots__ = ("_builtins", "_table")

    def __init__(self, *builtins: Builtin) -> None:
        self._builtins: Final = builtins
        self._table: Final = PatternTable(builtin.pattern for builtin in builtins)

    def is_any_in(self, text: bytes) -> bool:
        """Return whether any pattern matches a line."""
        return bool(self._table.matching(text))

    def failure_in(self, text: bytes, roots: Sequence[str]) -> Failure | None:
        """Return the failure in a line; None if no pattern matches."""
        for place in self._table.matching(text):
            builtin = self._builtins[place]
            if (groups := builtin.pattern.groups(text)) is not None:
                return _failure(builtin, text, groups, roots)
        return None


FRAMEWORKS: Final = Builtins(*_FRAMEWORKS)
"""Patterns for failed checks of test frameworks."""
OF_PROGRAMS: Final = Builtins(*_CRASHES, *_MEMORY)
"""Patterns for the output of any program, also of tests."""
OF_BUILDS: Final = Builtins(
    *_FRAMEWORKS, *_MEMORY, *_LINKING, *_COMPILING, *_CONFIGURING, *_CRASHES, *_TIMEOUTS
)


def _failure(builtin: Builtin, text: bytes, groups: tuple[str, ...], roots: Sequence[str]) -> Failure:
    values = list(groups)
    if builtin.path and values[builtin.path - 1]:
        values[builtin.path - 1] = source_name(values[builtin.path - 1], roots)
    place = f"{values[builtin.path - 1]}:{values[builtin.line - 1]}" if builtin.line else ""
    headline = builtin.headline.format("", *values)
    if headline.startswith("signal "):
        headline = signal_headline(headline.removeprefix("signal "))
    shown = decoded(text).strip()
    line = shown if shown.startswith(builtin.opening) else f"{builtin.opening}{shown}"
    return failure_of(builtin.kind, builtin.subject.format("", *values), headline, line, place)
