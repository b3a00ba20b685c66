"""Give each build its turn, so that no owner's many builds keep another's few waiting."""

from __future__ import annotations

from typing import Final

UNKNOWN_SECONDS: Final = 300.0  # a job that has not run yet
FURTHEST_SECONDS: Final = 12 * 3600.0
MERGED_SECONDS: Final = 1800.0
_ASKED_SHARE: Final = 0.25


def turn_ahead(
    owners_work: float, usual: float | None, *, is_asked: bool = False, is_merged: bool = False
) -> float:
    """Return in how many seconds a build would end if its owner had one machine alone: its turn.

    Builds begin in the order of their turns, so what arrives after a build's turn does not overtake it. A
    turn is at most 12 hours ahead.

    Args:
        owners_work: the usual seconds of the owner's unfinished builds in the pool.
        usual: the usual seconds of the build; None: not known.
        is_asked: a person asked for this build again, and not for a longer one. It takes its turn after a
            quarter of the time: sooner than most, and later with each further one.
        is_merged: nobody waits for it. Checks of the next half hour come first, but not those after.
    """
    ahead = owners_work + (UNKNOWN_SECONDS if usual is None else usual)
    ahead = ahead * (_ASKED_SHARE if is_asked else 1.0) + (MERGED_SECONDS if is_merged else 0.0)
    return min(ahead, FURTHEST_SECONDS)
