"""Pairs that count: one that other work disturbed is left out and measured again, up to a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.machines.environment import Disturbance
    from service.domain.measuring.launch import Launch

# Shares of the time of a launch's CPUs. The kernel counts in ticks of 10 ms: two of them, which a timer
# and a rounding make, are 4 % of a launch of 0.5 s. Less than a twentieth also seldom meets every
# repetition of a launch, and the best one is what is taken.
FOREIGN_LIMIT: Final = 0.05
STEAL_LIMIT: Final = 0.05
# Of the machine's other CPUs. They may be threads of the same core, which a virtual machine does not show:
# with all of the other one busy benchmarks ran up to 40 % slower. A quarter seldom meets every repetition.
ELSEWHERE_LIMIT: Final = 0.25
# Of a policy's most pairs. On a machine that is never quiet waiting for quiet would never end.
EXTRA_SHARE: Final = 0.25


def is_disturbed(around: Disturbance) -> bool:
    """Return whether other work used too much of a launch's CPUs, or of CPUs that may share its cores.

    Neither its side nor what it measured is asked.
    """
    return (
        around.steal_share > STEAL_LIMIT
        or (around.foreign_share or 0.0) > FOREIGN_LIMIT
        or around.elsewhere_share > ELSEWHERE_LIMIT
    )


def allowance(max_pairs: int) -> int:
    """The number of disturbed pairs that are measured again in a sequence of at most ``max_pairs`` pairs."""
    return int(EXTRA_SHARE * max_pairs)


def counting_pairs(disturbed: Mapping[int, bool], max_pairs: int) -> tuple[int, ...]:
    """The numbers of the pairs that count, in order.

    Disturbed pairs are left out until the allowance is used up; later ones count. Beyond ``max_pairs`` the
    allowance grows with what counts. Whether a pair counts depends on it and the pairs before it only, so
    that a look at the first k of them stays what it was, however many follow.

    Args:
        disturbed: by pair number, whether it was disturbed.
        max_pairs: the policy's.
    """
    found: list[int] = []
    left_out = 0
    for pair in sorted(disturbed):
        if disturbed[pair] and left_out < allowance(max(max_pairs, len(found) + 1)):
            left_out += 1
        else:
            found.append(pair)
    return tuple(found)


def pairs_of(launches: Sequence[Launch]) -> dict[int, bool]:
    """By pair number, whether one of its launches was disturbed."""
    found: dict[int, bool] = {}
    for launch in launches:
        found[launch.pair] = found.get(launch.pair, False) or launch.is_disturbed
    return found


def count_pairs(launches: Sequence[Launch], max_pairs: int) -> int:
    """Count the pairs so far that count."""
    return len(counting_pairs(pairs_of(launches), max_pairs))


def counting_launches(launches: Sequence[Launch], max_pairs: int, first: int | None = None) -> list[Launch]:
    """The launches of the pairs that count; if ``first`` is given, of so many of these pairs only."""
    counting = set(counting_pairs(pairs_of(launches), max_pairs)[:first])
    return [launch for launch in launches if launch.pair in counting]


@dataclass(frozen=True, slots=True)
class DisturbedPairs:
    """The numbers of disturbed pairs that were measured again, and that were kept, of all ``pairs``."""

    left_out: int = 0
    kept: int = 0
    pairs: int = 0


def disturbed_pairs(launches: Sequence[Launch], max_pairs: int) -> DisturbedPairs:
    """Count the disturbed pairs of a sequence."""
    disturbed = pairs_of(launches)
    counting = counting_pairs(disturbed, max_pairs)
    kept = sum(disturbed[pair] for pair in counting)
    return DisturbedPairs(len(disturbed) - len(counting), kept, len(disturbed))
