"""Decide whether a signature names its cause, so that a known failure may waive a failure by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import FailureKind
from service.domain.failures.output.linear import Pattern

if TYPE_CHECKING:
    from service.domain.failures.signature import Signature

# Expressions of GoogleTest, Catch2, doctest, Boost.Test, pytest, glog and assert().
_ASSERTION: Final = Pattern(
    r"(?:^|[:;] )(?:Expected equality of these values: |Expected: \(|Expected: .* throw|Value of: |"
    r"Death test: |The difference between .* and |Check failed: )|\bAssertion .* failed\b|"
    r"\b(?:REQUIRE|CHECK|ASSERT|EXPECT)[A-Z_]* ?\(|\bassert[ (]|\bcheck .+ has failed\b"
)
# A matcher prints the number that it expects. It may be written in the test: `Gt(3)` is not `Gt(5)`.
_LOST_EXPECTATION: Final = Pattern(r"; Expected: [^;]*\b[NTDA]\b")
_PLACE: Final = Pattern(
    r"[\w+-]\.(?:c|cc|cpp|cxx|c\+\+|h|hh|hpp|hxx|ipp|inl|inc|cu|mm|py|cmake|rs|go|java|js|sh|pl)(?:[^\w.]|$)|"
    r"\bCMakeLists\.txt\b"
)
_LOST_VALUE: Final = Pattern(r"\b[NTDA]\b")
_FUNCTION: Final = Pattern(r"\w+Sanitizer: .*(?: in |: )[\w(~<]")
_OF_TESTS: Final = frozenset({FailureKind.CRASH, FailureKind.TIMEOUT, FailureKind.MEMORY})
_OF_A_TEST: Final = "Failure of a "


def names_cause(signature: Signature, line: str) -> bool:
    """Return whether the signature of a failure with this line names an assertion, a source file or a test.

    A test's name alone is enough only if the text lost no value: a number may be all that tells two faults
    of a test apart.
    """
    text = signature.text.encode(errors="replace")
    if _LOST_EXPECTATION.search(text):
        return False
    if _ASSERTION.search(text) or _PLACE.search(text):
        return True
    if _PLACE.search(signature.subject.encode(errors="replace")) and not _is_test(signature, line):
        return True
    if signature.kind is FailureKind.SANITIZER:
        return _FUNCTION.search(text) is not None
    return _is_test(signature, line) and _LOST_VALUE.search(text) is None


def _is_test(signature: Signature, line: str) -> bool:
    """Return whether the subject is a test, and not a file or a program."""
    is_of_test = signature.kind in _OF_TESTS and line.startswith(_OF_A_TEST)
    return bool(signature.subject) and (signature.kind is FailureKind.TEST or is_of_test)
