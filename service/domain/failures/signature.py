"""Compute signatures: the text of a failure without what differs between builds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import MOST, NO_REASON, REASONS, FailureKind
from service.domain.failures.output.assertions import headline_of
from service.domain.failures.output.ctest_lines import status_in
from service.domain.failures.output.linear import Pattern
from service.domain.failures.output.log_lines import TIME, cleaned
from service.domain.failures.output.signals import SIGNAL_WORDS, signal_word
from service.domain.failures.output.source_names import source_name
from service.domain.values.text import ESCAPE_SEQUENCE, LINE_BYTES

if TYPE_CHECKING:
    from service.domain.failures.failure import Failure

RULES: Final = 3
"""The version of the rules. Changing it changes all digests, so that known failures no longer match."""

_MAX_TEXT: Final = 300  # characters
_WITH_REASON: Final = f"{NO_REASON}: "
_REST: Final = 8  # digits of the digest that replaces the rest of a longer text
_QUOTES: Final = str.maketrans(dict.fromkeys("‘’“”`'", '"') | {"\\": "/", "µ": "u", "μ": "u"})
_FILES: Final = "c|cc|cpp|cxx|c\\+\\+|h|hh|hpp|hxx|ipp|inl|inc|cu|m|mm|py|cmake|txt|sh|pl|rs|go|java|js"
_WINDOWS_STATUS: Final = Pattern(r"^0x(?:[cC]0000[0-9a-fA-F]{3}|80[0-9a-fA-F]{6})$")
_WORDS_OF_MEMORY: Final = Pattern(r"(?i)out of memory|bad_alloc|memory exhausted|oom-kill|out of heap")
# Digits to keep become control characters while the rules run.
_KEPT: Final = bytes(range(0x0E, 0x18))
_KEEP: Final = bytes.maketrans(b"0123456789", _KEPT)
_SHOW: Final = bytes.maketrans(_KEPT, b"0123456789")
# Messages of these kinds quote sources; numbers in them are the same in each build.
_OF_SOURCES: Final = frozenset({FailureKind.COMPILE, FailureKind.LINK, FailureKind.LINT, FailureKind.FORMAT})

_Rule = Callable[[bytes], bytes]


def _replace(pattern: str, by: bytes) -> _Rule:
    compiled = Pattern(pattern)
    return lambda text: compiled.replaced(text, by)


def _rewrite(pattern: str, change: _Rule) -> _Rule:
    compiled = Pattern(pattern)
    return lambda text: compiled.rewritten(text, change)


def _keep(pattern: str) -> _Rule:
    """Keep the numbers in each match."""
    return _rewrite(pattern, lambda text: text.translate(_KEEP))


def _path(text: bytes) -> bytes:
    """Shorten a path, which has the character before it, to one below the sources."""
    shown = text.decode(errors="replace")
    begin = 0 if shown[0] == "/" or shown[1:2] == ":" else 1
    return f"{shown[:begin]}{source_name(shown[begin:])}".encode()


def _address(text: bytes) -> bytes:
    """Replace a number with 0x, except a Windows status code."""
    return text.lower() if _WINDOWS_STATUS.search(text) else b"N"


def _hex(text: bytes) -> bytes:
    """Replace an identifier of digits and letters; other rules replace numbers, and letters may be a word."""
    is_mixed = any(letter in b"0123456789" for letter in text) and not text.isdigit()
    return b"N" if is_mixed else text


_MONTH: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK: Final = r"\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?"
_NUMBER: Final = r"\d+(?:\.\d+)*(?:[eE][+-]?\d+)?"
_WEEKDAY: Final = "(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?"
_MARKS: Final = (  # of terminals and of other programs
    _replace(rf"{ESCAPE_SEQUENCE.pattern}|\[NON-XML-CHAR-0x[0-9A-F]+\](?:\[[0-9;]*m)?", b""),
    _replace(r"[\x0e-\x17]", b""),
    _replace(TIME.text, b""),
    _replace(r"^\d{1,7}: ", b""),
    _replace(r"^ *\d+/\d+ Test +#\d+: ", b""),
)
_IN_EXPLANATION: Final = Pattern(r'"[^"]*"|#?-?\d[\d.]*')


def _explanation(text: bytes) -> bytes:
    """Keep what a matcher says of a value, without values: ``; whose element doesn't match``."""
    begin = max(text.rfind(b", which "), text.rfind(b", whose "))
    return b"; " + _IN_EXPLANATION.replaced(text[begin + 2 :], b"")


# A semicolon ends a value, except within a text; `\xA6` ends a shortened text.
_STRING: Final = r"""(?:(?:u8|[LuU])?"(?:[^"\\\xA6]|\\.)*"|L?';')"""
_VALUE: Final = rf'(?:(?:[^;"]*[ (\[{{])?{_STRING})*[^;]*'
_VALUES_OF_ASSERTIONS: Final = (  # before quotes and backslashes are rewritten
    # No values but reasons: an exception, the text of an AssertionResult, and too few or too many calls.
    _replace(r"(^|; | )Actual: (it throws )", rb"\1\2"),
    _replace(r"(^|; | )Actual: (?:true|false) \(([^;]*)\)", rb"\1\2"),
    _replace(r"(^|; | )Actual: (?:never )?called[^;]* - (unsatisfied|over-saturated) and [a-z]+", rb"\1\2"),
    _rewrite(rf"(?:^|; | )Actual: {_VALUE}, wh(?:ich|ose) [^;}}]*(?:;|$)", _explanation),
    _replace(rf"(?:^|; | )(?:Which is|Actual): {_VALUE}", b""),
    _replace(rf", actual: {_VALUE}", b""),
    _replace(rf"( evaluates to ){_VALUE}", rb"\1"),
)
_SIZE: Final = _keep(
    r"\b(?:has|have) \d+ elements?\b|\bsize (?:that )?(?:is(?:n't)? )?(?:equal to|[!=<>]=?) \d+\b"
)
_ASSERTIONS: Final = (  # keep expressions, which are code, and the sizes that matchers print
    _replace(rf"\b(AssertionError: )-?{_NUMBER}\b", rb"\1N"),  # a value, not the number of an error
    _keep(r"^[^;]* evaluates to "),
    _replace(" evaluates to ", b""),
    _rewrite(r"; Expected: [^;]*", _SIZE),
    _replace(r"^(Check failed: .*?) \(.* vs\. [^)]*\)", rb"\1"),
    _keep(
        r"^Expected equality of these values: [^;]*(?:; [^;]*)?|^Expected: \([^;]*\)|"
        r"^Value of: [^;]*|; element #\d+|^Death test: [^;]*|"
        r"; Expected: (?:contains regular expression|to be called) [^;]*|"
        r"^The difference between .*? and .*? is |, which exceeds [^;]*, where|"
        r"^Expected: .* throw|Assertion .* failed in |"
        r"\b(?:REQUIRE|CHECK|ASSERT|EXPECT)[A-Z_]* ?\(.*\)|\bassert ?\(.*\)"
    ),
    _keep(r"^Check failed: (?:.*(?:[=!<>]=|[<>%&|^*/+]) ?-?\d+|[^ ]*)|\[\d+\] in [^ ]+$"),
    _keep(r'\btype "[^"]*"'),
)
_PATHS: Final = (
    _rewrite(r"(?:^|[\s\"(=,<\[{])(?:[A-Za-z]:)?/[^\s\"'()<>,;|\[\]{}:*?]+", _path),
    _replace(r"(^|[\s\"(=,<\[])(?:\.{1,2}/)+", rb"\1"),
    _replace(rf"\b((?:\w|[-+.])+\.(?:{_FILES})) ?(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))", rb"\1:N"),
    _replace(r"\b(line )\d+\b", rb"\1N"),
    _replace(r"<lambda_[0-9a-f]{32}>", b"<lambda>"),
)
_ADDRESSES: Final = (_rewrite(r"\b0x[0-9a-fA-F]+\b", _address),)
_TIMES: Final = (
    _replace(rf"\b\d{{4}}[-/]\d\d[-/]\d\d(?:[T ,]+{_CLOCK})?(?: ?Z| ?[+-]\d\d:?\d\d)?", b"T"),
    _replace(r"\b\d{8}T\d{6}Z?\b", b"T"),
    _replace(
        rf"\b{_WEEKDAY}{_MONTH} +\d\d?(?:,? \d{{4}})?(?: {_CLOCK})?(?: [A-Z]{{3,4}})?(?: \d{{4}})?\b", b"T"
    ),
    _replace(rf"\b{_WEEKDAY}\d\d?[-/ ](?:{_MONTH}|\d\d?)[-/ ]\d{{4}}(?:[ ,]+{_CLOCK})?(?: GMT)?\b", b"T"),
    _replace(r"\b[IWEF]\d{4} \d\d:\d\d:\d\d(?:\.\d+)?\b", b"T"),
    _replace(r"\b\d\d?:\d\d:\d\d(?:[.,]\d+)?\b", b"T"),
    _replace(
        rf"\b{_NUMBER} ?(?:[num]?s|m?secs?|(?:milli|micro|nano)?seconds?|mins?|minutes?|h|hours?)\b",
        b"D",
    ),
)
_NAMES: Final = (  # numbers that name an end or a version
    _keep(
        r"(?i)\b(?:exit(?:ed)?(?:[ -]?(?:code|status|value))?|exited with(?: code| status)?|"
        r"(?:return(?:ed)?|result|error|status|response)[ -]?(?:code|status|value|number)|"
        r"(?:terminated|failed|ended) with(?: code| status)?|"
        r"rc|ret|retcode|signal|errno|[a-z]*error|status|statusCode|code|SQLSTATE|GetLastError(?:\(\))?|"
        r"curl|HTTP(?:/\d(?:\.\d)?)?|HTTP response)[:= (]{1,3}-?(?:0x[0-9a-f]+|\d+)\b"
    ),
    _keep(r"(?i)\b(?:returned|failed|response)[:= (]{1,3}-?\d+\)?$"),
    _keep(r"\b(?:system|generic|iostream|future|asio\.\w+|boost\.\w+|addrinfo|netdb):\d+\b"),
    _keep(r"\.so(?:\.\d+)+\b|\b[A-Za-z]+\d+\.\d{1,2}\b"),
)
_VALUES: Final = (
    _replace(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", b"N"),
    *_ADDRESSES,
    _rewrite(r"\b[0-9a-fA-F]{8,}\b", _hex),
    # addresses of hosts
    _replace(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+|/\d+)?\b", b"A"),
    _replace(
        r"\[[0-9a-fA-F]*:[0-9a-fA-F:.]*\](?::\d+)?|\b(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}\b", b"A"
    ),
    _replace(r"(^|\s)::1(?::\d+)?\b", rb"\1A"),
    _replace(r"\b(?:localhost|[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)+):\d+\b", b"A"),
    _replace(r"(?i)\b(port[:= ]+)\d+\b", rb"\1A"),
    # processes and threads
    _replace(r"==\d+==", b"==N=="),
    _replace(r"(?i)\b(thread T|mutex M)\d+\b", rb"\1N"),
    # all other numbers, except those within names
    _replace(r"\b\d+\.\d+([KMGT]i?B)\b", rb"N\1"),
    _replace(r"\b\d{1,3}(?:,\d{3})+\b", b"N"),
)
_NUMBERS: Final = _replace(rf"-?\b{_NUMBER}\b", b"N")
_CODE: Final = (  # of the sources, which compilers quote
    _rewrite(r'"[^"]*"', lambda text: text if text[1:-1].isdigit() else text.translate(_KEEP)),
    _keep(r"static[_ ]assert.*$"),
)
_BLANKS: Final = (
    _replace(r"([a-z])\"(t|s|re|ve|ll)\b", rb"\1'\2"),  # an apostrophe is no quote
    _replace(r"\s+", b" "),
)
_RULES: Final = (*_MARKS, *_ASSERTIONS, *_PATHS, *_NAMES, *_TIMES, *_VALUES, _NUMBERS, *_BLANKS)
_RULES_OF_SOURCES: Final = (*_MARKS, *_PATHS, *_CODE, *_ADDRESSES, _NUMBERS, *_BLANKS)


@dataclass(frozen=True, slots=True)
class Signature:
    """The part of a failure that is equal in all builds that fail alike.

    ``subject`` is not normalised: tests with names that differ by a digit are different tests.
    """

    kind: FailureKind
    subject: str
    text: str

    @property
    def covers_any_failure(self) -> bool:
        """True for a test that failed for an unknown reason: all such failures of it are alike."""
        return self.kind is FailureKind.TEST and self.text == NO_REASON

    @property
    def digest(self) -> bytes:
        """SHA-256 of the signature and the version of the rules."""
        parts = (str(RULES), str(self.kind), self.subject, self.text)
        return hashlib.sha256("\0".join(parts).encode(errors="replace")).digest()


def signature_of(failure: Failure) -> Signature:
    """Compute the signature of a failure: remove from its headline what differs between builds.

    Paths of a machine, times, addresses, identifiers and numbers go. Numbers within names (``C2440``,
    ``int64_t``), in the code of an assertion, and in exit codes, signals and states stay, and so do those in
    code that a compiler or linker quotes.
    """
    return Signature(failure.kind, failure.subject, _text(failure))


class DifferentFailures:
    """The failures of one test; those that differ only in values count once.

    Most tests have one failure, so signatures are computed only from the second one on.
    """

    __slots__ = ("_signatures", "found")

    def __init__(self) -> None:
        self.found: list[Failure] = []  # at most one more than a build may have
        self._signatures: set[Signature] = set()

    def add(self, failure: Failure) -> None:
        """Add a failure, unless there is one like it."""
        if not self.found:
            self.found.append(failure)
            return
        if len(self.found) > MOST or failure == self.found[0]:
            return
        self._signatures = self._signatures or {signature_of(self.found[0])}
        if (signature := signature_of(failure)) not in self._signatures:
            self._signatures.add(signature)
            self.found.append(failure)


def _text(failure: Failure) -> str:
    kind, headline = failure.kind, failure.headline.strip()
    if status := status_in(cleaned(headline.encode(errors="replace")).text):
        kind, headline = status.failure()
    elif "\n" in headline:
        headline = headline_of(headline.split("\n"))
    if kind is FailureKind.TEST and headline.startswith(f"{NO_REASON}:"):
        return _of_reason(headline)
    if kind is FailureKind.MEMORY and _WORDS_OF_MEMORY.search(headline.encode(errors="replace")):
        return "out of memory"
    if kind is FailureKind.TIMEOUT:
        return "timeout"
    if kind is FailureKind.CRASH and (word := signal_word(headline)) in SIGNAL_WORDS.values():
        return word
    return normalised(headline, kind)


def _of_reason(headline: str) -> str:
    """Normalise each line of a reason, and sort them, because their order may depend on threads."""
    lines = {normalised(line) for line in headline.removeprefix(f"{NO_REASON}:").split(REASONS)} - {""}
    return _shortened(f"{_WITH_REASON}{REASONS.join(sorted(lines))}" if lines else NO_REASON)


def normalised(text: str, kind: FailureKind = FailureKind.TEST) -> str:
    """Apply the rules for a kind to a line of text."""
    data, is_of_sources = text[:LINE_BYTES].encode(errors="replace"), kind in _OF_SOURCES
    for rule in () if is_of_sources else _VALUES_OF_ASSERTIONS:
        data = rule(data)
    data = data.decode(errors="replace").translate(_QUOTES).encode()[:LINE_BYTES]
    for rule in _RULES_OF_SOURCES if is_of_sources else _RULES:
        data = rule(data)
    return _shortened(data.translate(_SHOW).decode(errors="replace").strip())


def _shortened(shown: str) -> str:
    if len(shown) <= _MAX_TEXT:
        return shown
    rest = hashlib.sha256(shown.encode(errors="replace")).hexdigest()[:_REST]
    return f"{shown[: _MAX_TEXT - _REST - 2]}… {rest}"
