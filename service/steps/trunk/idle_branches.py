"""Go through the branches of idle pools until each pool has a measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.values.errors import BadInput, NotFound, Permanent, Transient

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from service.domain.verdict.calibration.schedule import BranchKey


def start_in_pools(branches: Iterable[BranchKey], start: Callable[[BranchKey], bool]) -> Collection[str]:
    """Call ``start`` for each branch whose pool got nothing yet; return the pools that got a measurement.

    ``start`` returns whether it started one. A branch that is gone keeps no other one from its turn.

    Raises:
        Transient: a branch could not be fetched; all other branches were looked at.
    """
    started, fault = set[str](), None
    for key in branches:
        try:
            if key.pool not in started and start(key):
                started.add(key.pool)
        except (BadInput, NotFound, Permanent):
            continue
        except Transient as error:
            fault = error
    if fault is not None:
        raise fault
    return started
