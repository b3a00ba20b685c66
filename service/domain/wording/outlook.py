"""Sentences about the outlook: the duration of a run, the cost of a pair, the least change that is found."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from service.domain.values.text import duration, listed, plain, share

if TYPE_CHECKING:
    from collections.abc import Sequence

LAST_RUNS: Final = 5  # whose durations are an expectation for the next one
_FEWEST_RUNS: Final = 3  # with fewer, one unusual run would be the expectation
_MINUTES: Final = 60
_NAMED: Final = 5  # benchmarks; enough to recognise how names are written
_SHORT: Final = 10.0  # seconds, below which tenths matter


def more_time(*, is_asked: bool) -> str:
    """The way to more machine time: the option by which a person asked for it, else the policy."""
    return "raise `--minutes`" if is_asked else "raise machine_time in benchgate.yaml"


def cost(
    pair_seconds: float, machine_time: float, needed: int, set_up: float = 0.0, *, is_asked: bool = False
) -> str:
    """The number of pairs that the machine time allows, beside the least that find a difference.

    ``set_up`` are those seconds of a pair that it takes whatever it measures; named if they are half of it.
    ``is_asked``: a person chose the machine time of this build.
    """
    pairs = int(machine_time / pair_seconds) if pair_seconds else 0
    takes = f"{pair_seconds:.2g} s" if pair_seconds < _SHORT else duration(pair_seconds)
    remedy = more_time(is_asked=is_asked)
    if set_up and set_up >= pair_seconds / 2:
        # That of an earlier launch, which may have taken longer than all of this pair.
        part = min(1.0, round(set_up / pair_seconds, 2))
        takes = f"{takes}, {share(part)} of it to set up the programs"
    else:
        remedy = f"{remedy}, or measure less in a launch"
    sentence = (
        f"a pair of launches takes {takes}: machine_time ({duration(machine_time)}) is about "
        f"{pairs} pairs, and {needed} are needed to find a difference"
    )
    if pairs >= needed:
        return sentence
    return f"{sentence}; {remedy}"


def cached(hits: int, compilations: int) -> str:
    """The share of the compilations that the compiler cache answered."""
    return f"compiler cache: {hits} of {compilations} object files were compiled before"


def pairs_too_few(pairs: int, needed: int) -> str:
    """The reason for no verdict if a person asked for fewer pairs than a difference takes."""
    return f"no difference can be found in {pairs} pairs, so there is no +1: ask for {needed} or more"


def pairs_cut_short(pairs: int, asked: int, machine_time: float) -> str:
    """The reason for fewer pairs than a person asked for."""
    return (
        f"the machine time ({duration(machine_time)}) ended measuring after {pairs} of {asked} pairs: "
        "`--minutes` allows more"
    )


def none_chosen(pattern: str, others: Sequence[str]) -> str:
    """The answer to a filter that no benchmark of a job fits, with some that exist."""
    some = f"the job has {listed(others, _NAMED)}" if others else "the job has no benchmark at all"
    return (
        f"no benchmark is named like the filter {plain(pattern)}, which is a part of a name, or a whole name "
        f"in which `*` stands for any characters; {some}"
    )


def noise(low: float, high: float, least: float) -> str:
    """The spread of the pairs of several benchmarks, and the least change that is found despite it."""
    by = share(low) if share(low) == share(high) else f"{share(low)} to {share(high)}"
    return (
        f"pairs vary by {by}: a change below {share(least)} will hardly be found in the machine time; "
        "`benchgate doctor` reports sources of noise"
    )


def expected_duration(seconds: Sequence[float], branch: str) -> str:
    """The time that a run will probably take; empty after fewer than three runs.

    Args:
        seconds: how long the last runs on the branch took.
        branch: of the run.
    """
    if len(seconds) < _FEWEST_RUNS:
        return ""
    minutes = max(1, round(median(seconds) / _MINUTES))
    hours, rest = divmod(minutes, _MINUTES)
    parts = [f"{hours} h"] * bool(hours) + [f"{rest} min"] * bool(rest)
    return f"About {' '.join(parts)}, as the last {len(seconds)} runs on {plain(branch, 100)} took."
