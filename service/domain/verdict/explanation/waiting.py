"""Find out whether a benchmark became slower because it waits longer, and where."""

from __future__ import annotations

from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, Final

from service.domain.measuring.waits import is_wait, waits_for_thread
from service.domain.verdict.explanation.attribution import by_function, growth_of, matched, mean
from service.domain.verdict.explanation.causes import Cause, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.measuring.sampled_stacks import Sampled

_PART: Final = 1 / 3  # of the growth of the elapsed time
_MOST: Final = 1 / 2  # of it
_NEGLIGIBLE: Final = 0.01  # of the parent's elapsed time


def waiting(base: Sequence[Sampled], patch: Sequence[Sampled]) -> Cause | None:
    """Name the function of the program that waits longer, if that is a third of the growth of elapsed time.

    A function's waiting is the part of the elapsed time per iteration that the launch waited, divided by the
    samples of waits. The whole must have grown for sure, by Welch's interval over the launches. A function
    that only one side has waits for its nearest caller on both sides, as in :func:`attribute`.
    The launches, two of a side at least, are by elapsed time.
    """
    was, kept = matched(base, patch)
    before, after = (by_function(list(map(_waits, side)), kept) for side in (base, patch))
    if not _is_part(base, patch, *([sum(each.values()) for each in side] for side in (before, after))):
        return None
    names = sorted(set(chain(*after)))
    grown = {name: mean(name, after) - mean(was.get(name, name), before) for name in names}
    old, new = (fmean(sum(each.values()) for each in side) for side in (before, after))
    return Cause(Kind.WAITING, max(grown, key=grown.__getitem__), old, new)


def waits_for_others(base: Sequence[Sampled], patch: Sequence[Sampled]) -> bool:
    """Return whether a single thread surely waits longer for others, by half of the growth or more.

    What those do is not sampled, so no function of its own is to blame. A contended lock is its own wait.
    """
    before, after = ([each.real * _share(each) for each in side] for side in (base, patch))
    return _is_part(base, patch, before, after, part=_MOST)


def _is_part(
    base: Sequence[Sampled],
    patch: Sequence[Sampled],
    before: Sequence[float],
    after: Sequence[float],
    *,
    part: float = _PART,
) -> bool:
    """Return whether seconds of an iteration surely grew, by a part of the elapsed time's growth."""
    found = growth_of(before, after)
    old, new = (fmean(each.real for each in side) for side in (base, patch))
    return new > old and found.low > 0 and found.growth >= max(part * (new - old), _NEGLIGIBLE * old)


def _share(launch: Sampled) -> float:
    """Return the share of the samples that wait for another thread."""
    waits = sum(count for stack, count in launch.stacks.items() if waits_for_thread(stack))
    return waits / sum(launch.stacks.values())


def _waits(launch: Sampled) -> Sampled:
    """Keep only the waits, and the seconds per iteration that they took."""
    stacks = {stack: count for stack, count in launch.stacks.items() if is_wait(stack)}
    return launch._replace(stacks=stacks, time=launch.real * launch.waited)
