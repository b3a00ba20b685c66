"""Leave out pairs that other work disturbed, and measure them again, up to a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.machines.environment import Disturbance
    from service.domain.measuring.launch import Launch

# Shares of the time of a launch's CPUs. The kernel counts in ticks of 10 ms: two, by a timer and rounding,
# are 4 % of a launch of 0.5 s. Less than 5 % also seldom disturbs every repetition, and the best one counts.
FOREIGN_LIMIT: Final = 0.05
STEAL_LIMIT: Final = 0.05
# Of the machine's other CPUs. They may be threads of the same core, which a virtual machine does not show:
# while the other thread was busy, benchmarks ran up to 40 % slower. A quarter seldom meets every repetition.
ELSEWHERE_LIMIT: Final = 0.25
# Of the policy's most pairs, because some machines are never quiet.
EXTRA_SHARE: Final = 0.25


def is_disturbed(around: Disturbance) -> bool:
    """Return whether other work used too much of a launch's CPUs, or of CPUs that may share its cores.

    The answer depends neither on its side nor on what it measured.
    """
    return (
        around.steal_share > STEAL_LIMIT
        or (around.foreign_share or 0.0) > FOREIGN_LIMIT
        or around.elsewhere_share > ELSEWHERE_LIMIT
    )


def allowance(max_pairs: int) -> int:
    """Compute how many disturbed pairs are measured again in a sequence of at most ``max_pairs`` pairs."""
    return int(EXTRA_SHARE * max_pairs)


def counting_pairs(disturbed: Mapping[int, bool], max_pairs: int) -> tuple[int, ...]:
    """List the numbers of the pairs that count, in order.

    Disturbed pairs are left out until the allowance is used up; later ones count. Beyond ``max_pairs`` the
    allowance grows with the pairs that count. Whether a pair counts depends only on it and the pairs before
    it, so a look at the first k of them never changes later.

    Args:
        disturbed: whether each pair was disturbed, by its number.
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
    """Map each pair number to whether one of its launches was disturbed."""
    found: dict[int, bool] = {}
    for launch in launches:
        found[launch.pair] = found.get(launch.pair, False) or launch.is_disturbed
    return found


def count_pairs(launches: Sequence[Launch], max_pairs: int) -> int:
    """Count the pairs so far that are not left out."""
    return len(counting_pairs(pairs_of(launches), max_pairs))


def counting_launches(launches: Sequence[Launch], max_pairs: int, first: int | None = None) -> list[Launch]:
    """List the launches of the pairs that count, or of the ``first`` of these pairs."""
    counting = set(counting_pairs(pairs_of(launches), max_pairs)[:first])
    return [launch for launch in launches if launch.pair in counting]


@dataclass(frozen=True, slots=True)
class DisturbedPairs:
    """Numbers of disturbed pairs among all ``pairs``: ``left_out`` and measured again, or ``kept``."""

    left_out: int = 0
    kept: int = 0
    pairs: int = 0


def disturbed_pairs(launches: Sequence[Launch], max_pairs: int) -> DisturbedPairs:
    """Count the disturbed pairs of a sequence."""
    disturbed = pairs_of(launches)
    counting = counting_pairs(disturbed, max_pairs)
    kept = sum(disturbed[pair] for pair in counting)
    return DisturbedPairs(len(disturbed) - len(counting), kept, len(disturbed))
