"""The failures in the causes that another CI reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.failures.failure import MOST
from service.domain.failures.patterns import failures_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.failures.failure import Failure


def failures_of_causes(causes: Sequence[str]) -> tuple[tuple[Failure, ...], bool]:
    """Find the failure that each cause names, each failure once.

    Returns:
        The failures, and whether the list is cut: a cause names no failure, so that nothing recognises it
        again, or there are more than :data:`~service.domain.failures.failure.MOST`.
    """
    found = [list(failures_in([cause.encode(errors="replace")])) for cause in causes]
    failures = tuple(dict.fromkeys(failure for each in found for failure in each))
    return failures[:MOST], len(failures) > MOST or not all(found)
