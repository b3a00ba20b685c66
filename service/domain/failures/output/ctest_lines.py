"""Parse CTest's lines about the end of a test."""

from __future__ import annotations

from typing import Final, NamedTuple

from service.domain.failures.failure import NO_REASON, FailureKind
from service.domain.failures.output.linear import Pattern
from service.domain.failures.output.signals import signal_word

OPENING: Final = "Failure of a CTest test "
"""The words before a line of CTest in a message."""

_STATUS: Final = Pattern(
    r"^(Failure of a CTest test )?(?:\[[0-9TZ:.+-]+\] )? *(?:\d+/(\d+) )?Test +#(\d+): (.+?) ?\.\.+ *"
    r"((?:[A-Za-z]+ )?[a-z]*\*\*\*.*|Passed.*|Exit code 0x[0-9a-fA-F]+.*|)(?: *\( http.*)?$"
)
_DURATION: Final = Pattern(r" +[0-9.]+ sec.*$")
_LISTED: Final = Pattern(r"^\t? *\d+ - (.+) \(([A-Za-z ]+)\)(?: .*)?$")
_NO_FAILURES: Final = ("passed", "skipped", "not run (disabled)", "disabled")


class CtestLine(NamedTuple):
    """The end of a test.

    Args:
        name: of the test.
        end: CTest's words for the end; empty if the line lacks them.
        number: of the test; 0 in the list of failed tests.
        is_quoted: from a message, which quotes failures only, without their ends.
        total: the number of tests in this run of CTest; 0 if the line has none.
    """

    name: str
    end: str
    number: int = 0
    is_quoted: bool = False
    total: int = 0

    @property
    def has_passed(self) -> bool:
        """Return whether the test passed."""
        return self.end.lower().startswith("passed")

    @property
    def has_failed(self) -> bool:
        """Return whether the test failed."""
        return not self.end.lower().startswith(_NO_FAILURES) and (bool(self.end) or self.is_quoted)

    def failure(self) -> tuple[FailureKind, str]:
        """Return kind and headline for a failed test."""
        words = self.end.lower().replace("exception:", "").strip()
        match words.split(" ", 1)[0]:
            case "timeout":
                return FailureKind.TIMEOUT, "timeout"
            case "failed" | "":
                reason = " ".join(self.end.split()[1:])
                return FailureKind.TEST, f"{NO_REASON}: {reason}" if reason else NO_REASON
            case "not":
                return FailureKind.TEST, "Not Run"
            case "subprocess" | "child":
                return FailureKind.CRASH, signal_word(words.partition(" ")[2] or "aborted")
        return FailureKind.CRASH, signal_word(words)


def status_in(text: bytes) -> CtestLine | None:
    """Parse CTest's result line; return None for any other line."""
    if b"Test" not in text or not (found := _STATUS.groups(text)):
        return None
    opening, total, number, name, end = found
    words = _DURATION.replaced(end.encode(), b"").decode(errors="replace").replace("***", " ")
    return CtestLine(name, " ".join(words.split()), int(number[:9]), bool(opening), int(total[:9] or 0))


def listed_in(text: bytes) -> CtestLine | None:
    """Parse a line of CTest's list of failed tests; return None for any other line."""
    found = _LISTED.groups(text)
    return CtestLine(found[0], found[1]) if found else None
