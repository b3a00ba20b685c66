"""Signatures: the text of a failure without what differs between two builds."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.failures.assertions import headline_of
from service.domain.failures.ctest_lines import status_in
from service.domain.failures.failure import FailureKind
from service.domain.failures.line_patterns import SIGNAL_WORDS, signal_word
from service.domain.failures.linear import Pattern
from service.domain.failures.log_lines import LINE_BYTES, cleaned
from service.domain.failures.source_names import source_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.failures.failure import Failure

RULES: Final = 1
"""The version of the rules. Another version gives other digests, which known failures no longer match."""

_MAX_TEXT: Final = 300  # characters
_QUOTES: Final = str.maketrans(dict.fromkeys("‘’“”`'", '"') | {"\\": "/", "µ": "u", "μ": "u"})
_FILES: Final = "c|cc|cpp|cxx|c\\+\\+|h|hh|hpp|hxx|ipp|inl|inc|cu|m|mm|py|cmake|txt|sh|pl|rs|go|java|js"
_WINDOWS_STATUS: Final = Pattern(r"^0x(?:[cC]0000[0-9a-fA-F]{3}|80[0-9a-fA-F]{6})$")
_WORDS_OF_MEMORY: Final = Pattern(r"(?i)out of memory|bad_alloc|memory exhausted|oom-kill|out of heap")
_KEPT_NUMBER: Final = (
    r"((?:exit code|exit status|signal|errno|HTTP(?:/\d(?:\.\d)?)?|status|code|SQLSTATE)[:= (]{1,3})"
)


def _steps() -> tuple[Callable[[bytes], bytes], ...]:
    """Return the rules in the order in which they run."""

    def replace(pattern: str, by: bytes) -> Callable[[bytes], bytes]:
        compiled = Pattern(pattern)
        return lambda text: compiled.replaced(text, by)

    def rewrite(pattern: str, change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
        compiled = Pattern(pattern)
        return lambda text: compiled.rewritten(text, change)

    month = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    clock = r"\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?"
    number = r"\d+(?:\.\d+)*(?:[eE][+-]?\d+)?"
    return (
        # 1: marks of terminals and of other programs
        replace(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\[NON-XML-CHAR-0x[0-9A-F]+\](?:\[[0-9;]*m)?", b""),
        replace(r"^\[?\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:?\d\d)\]? ?", b""),
        replace(r"^\d{1,7}: ", b""),
        replace(r"^ *\d+/\d+ Test +#\d+: ", b""),
        # 9: values of GoogleTest; expressions and matchers stay
        replace(r"(?:^|; | )(?:Which is|Actual): [^;]*", b""),
        replace(r", actual: .*$", b""),
        replace(r" evaluates to [^;]*", b""),
        # 3: paths
        rewrite(r"(?:^|[\s\"(=,<\[{])(?:[A-Za-z]:)?/[^\s\"'()<>,;|\[\]{}:*?]+", _path),
        replace(r"(^|[\s\"(=,<\[])(?:\.{1,2}/)+", rb"\1"),
        replace(rf"\b((?:\w|[-+.])+\.(?:{_FILES})) ?(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))", rb"\1:N"),
        # 4: dates, times and durations
        replace(rf"\b\d{{4}}[-/]\d\d[-/]\d\d(?:[T ,]+{clock})?(?: ?Z| ?[+-]\d\d:?\d\d)?", b"T"),
        replace(rf"\b(?:\w{{3}},? )?{month} +\d\d?(?:,? \d{{4}})?(?: {clock})?(?: \d{{4}})?\b", b"T"),
        replace(rf"\b\d\d?[-/ ](?:{month}|\d\d?)[-/ ]\d{{4}}(?:[ ,]+{clock})?\b", b"T"),
        replace(r"\b\d\d?:\d\d:\d\d(?:[.,]\d+)?\b", b"T"),
        replace(
            rf"\b{number} ?(?:[num]?s|m?secs?|(?:milli|micro|nano)?seconds?|mins?|minutes?|h|hours?)\b",
            b"D",
        ),
        # 5: identifiers
        replace(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", b"H"),
        # 8, first half: numbers that are names; an underscore protects them
        replace(rf"(?i)\b{_KEPT_NUMBER}(-?)(0x[0-9a-f]+|\d+)", rb"\1\2_\3"),
        rewrite(r"\b0x[0-9a-fA-F]+\b", _address),
        rewrite(r"\b[0-9a-fA-F]{8,}\b", _hex),
        # 6: addresses
        replace(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+|/\d+)?\b", b"A"),
        replace(
            r"\[[0-9a-fA-F]*:[0-9a-fA-F:.]*\](?::\d+)?|\b(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}\b", b"A"
        ),
        replace(r"(^|\s)::1(?::\d+)?\b", rb"\1A"),
        replace(r"\b(?:localhost|[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)+):\d+\b", b"A"),
        replace(r"(?i)\b(port[:= ]+)\d+\b", rb"\1A"),
        # 7: processes and threads
        replace(r"==\d+==", b"==N=="),
        replace(r"(?i)\b(thread T|mutex M)\d+\b", rb"\1N"),
        # 8, second half
        replace(rf"-?\b{number}\b", b"N"),
        replace(rf"(?i)\b{_KEPT_NUMBER}(-?)_(0x[0-9a-f]+|\d+)", rb"\1\2\3"),
        replace(r"([a-z])\"(t|s|re|ve|ll)\b", rb"\1'\2"),  # an apostrophe is no quote
        replace(r"\s+", b" "),
    )


def _path(text: bytes) -> bytes:
    """Rewrite a path, with the character before it."""
    shown = text.decode(errors="replace")
    begin = 0 if shown[0] == "/" or shown[1:2] == ":" else 1
    return f"{shown[:begin]}{source_name(shown[begin:])}".encode()


def _address(text: bytes) -> bytes:
    """Rewrite a number with 0x, except a status of Windows."""
    return text.lower() if _WINDOWS_STATUS.search(text) else b"H"


def _hex(text: bytes) -> bytes:
    is_mixed = any(letter in b"0123456789" for letter in text) and not text.isdigit()
    return b"H" if is_mixed else text


_STEPS: Final = _steps()


@dataclass(frozen=True, slots=True)
class Signature:
    """The part of a failure that is equal in all builds that fail alike.

    ``subject`` is the failure's own: tests whose names differ by a digit are other tests.
    """

    kind: FailureKind
    subject: str
    text: str

    @property
    def digest(self) -> bytes:
        """The identity of the signature, 32 bytes."""
        parts = (str(RULES), str(self.kind), self.subject, self.text)
        return hashlib.sha256("\0".join(parts).encode(errors="replace")).digest()


def signature_of(failure: Failure) -> Signature:
    """Remove from a failure's headline what differs between two builds.

    Those are paths of a machine, times, addresses, identifiers and numbers, except numbers within names
    (``C2440``, ``int64_t``) and exit codes, signals and states.
    """
    return Signature(failure.kind, failure.subject, _text(failure))


def _text(failure: Failure) -> str:
    kind, headline = failure.kind, failure.headline.strip()
    if status := status_in(cleaned(headline.encode(errors="replace")).text):
        kind, headline = status.failure()
    elif "\n" in headline:
        headline = headline_of(headline.split("\n"))
    if kind is FailureKind.MEMORY and _WORDS_OF_MEMORY.search(headline.encode(errors="replace")):
        return "out of memory"
    if kind is FailureKind.TIMEOUT:
        return "timeout"
    if kind is FailureKind.CRASH and (word := signal_word(headline)) in SIGNAL_WORDS.values():
        return word
    return normalised(headline)


def normalised(text: str) -> str:
    """Apply the rules to a text of one line."""
    data = text[:LINE_BYTES].translate(_QUOTES).encode(errors="replace")[:LINE_BYTES]
    for step in _STEPS:
        data = step(data)
    return data.decode(errors="replace").strip()[:_MAX_TEXT]
