"""Decide whether a signature names its cause, so that a known failure may waive a failure by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import FailureKind
from service.domain.failures.output.ctest_lines import OPENING
from service.domain.failures.output.linear import Pattern

if TYPE_CHECKING:
    from service.domain.failures.signature import Signature

# Expressions of glog, assert() and test frameworks, in programs that are no tests.
_ASSERTION: Final = Pattern(
    r"^Check failed: |\bAssertion .* failed\b|\b(?:REQUIRE|CHECK|ASSERT|EXPECT)[A-Z_]* ?\(|\bassert[ (]"
)
_PLACE: Final = Pattern(
    r"[\w+-]\.(?:c|cc|cpp|cxx|c\+\+|h|hh|hpp|hxx|ipp|inl|inc|cu|mm|py|cmake|rs|go|java|js|sh|pl)(?:[^\w.]|$)|"
    r"\bCMakeLists\.txt\b"
)
# Times, durations and addresses differ in each build; any other number may be written in the test.
_LOST_NUMBER: Final = Pattern(r"\bN\b")
_LINE_NUMBER: Final = Pattern(r"\.(?:\w|\+)+:N\b|\bline N\b")  # `cache_test.cc:N`
_FUNCTION: Final = Pattern(r"\w+Sanitizer: .*(?: in |: )[\w(~<]")
# An error in a header may be caused by a file that includes it.
_HEADER: Final = Pattern(r"\.(?:h|hh|hpp|hxx|h\+\+|ipp|inl|inc|tcc|cuh)$|/include/c\+\+/")
_BROKEN_OFF: Final = b":"  # `Expected equality of these values:`, cut off by other output
_OF_TESTS: Final = frozenset({FailureKind.TIMEOUT, FailureKind.MEMORY})
_OF_A_TEST: Final = "Failure of a "


def names_cause(signature: Signature, line: str) -> bool:
    """Return whether the signature of such a line names an assertion, a file, a function or a test.

    A test counts only if its text is whole and lost no number. `is > N` may have been `is > 3` or `is > 5`,
    and "step N" any step: the number may be all that tells two faults of a test apart. A test without a
    reason counts only from CTest, which may not know it; other frameworks print one.
    """
    text = signature.text.encode(errors="replace")
    if _is_test(signature, line):
        is_unread = signature.covers_any_failure and not line.startswith(OPENING)
        if is_unread or text.endswith(_BROKEN_OFF):
            return False
        return _LOST_NUMBER.search(_LINE_NUMBER.replaced(text, b"")) is None
    if signature.kind is FailureKind.SANITIZER and _FUNCTION.search(text):
        return True
    subject = signature.subject.encode(errors="replace")
    if signature.kind is FailureKind.COMPILE and _HEADER.search(subject):
        return False
    if signature.kind is FailureKind.CRASH:
        return _ASSERTION.search(text) is not None  # its stack is not read, and where it ended is not why
    return any(pattern.search(text) for pattern in (_ASSERTION, _PLACE)) or _PLACE.search(subject) is not None


def _is_test(signature: Signature, line: str) -> bool:
    """Return whether the subject is a test, and not a file or a program."""
    is_of_test = signature.kind in _OF_TESTS and line.startswith(_OF_A_TEST)
    return bool(signature.subject) and (signature.kind is FailureKind.TEST or is_of_test)
