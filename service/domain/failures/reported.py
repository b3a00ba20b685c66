"""Find the failures in the causes that another CI reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.failures.configured import NO_PATTERNS
from service.domain.failures.failure import MOST
from service.domain.failures.output.ends import is_weak, without_ends
from service.domain.failures.output.linear import Pattern
from service.domain.failures.output.patterns import failures_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.failures.configured import ConfiguredPatterns
    from service.domain.failures.failure import Failure

_LINK: Final = Pattern(r" +\( https?://[^ ]+ \)\s*$")  # to the build, after each cause


def failures_of_causes(
    causes: Sequence[str], patterns: ConfiguredPatterns = NO_PATTERNS
) -> tuple[tuple[Failure, ...], bool]:
    """Find the failure that each cause names, each failure once.

    Args:
        causes: in the words of the other CI.
        patterns: the operator's, for causes in which Benchgate finds no failure or only the end of a command.

    Returns:
        The failures, and whether the list is incomplete: a cause names no failure, or there are more than
        :data:`~service.domain.failures.failure.MOST`.
    """
    found = [_failures_of(cause, patterns) for cause in causes]
    failures = tuple(without_ends(list(dict.fromkeys(failure for each in found for failure in each))))
    return failures[:MOST], len(failures) > MOST or not all(found)


def _failures_of(cause: str, patterns: ConfiguredPatterns) -> tuple[Failure, ...]:
    text = _LINK.replaced(cause.encode(errors="replace"), b"")
    found = tuple(failures_in([text]))
    # The end of a command cannot be known, but an operator's pattern for it can.
    if all(map(is_weak, found)):
        return patterns.failures_in([text])[0] or found
    return found
