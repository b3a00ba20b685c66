"""Describe what to expect: the duration of a run, the cost of a pair, the least change that is found."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from service.domain.values.text import duration, listed, plain, share
from service.domain.verdict.comparison.link_layout import LOOKS

if TYPE_CHECKING:
    from collections.abc import Sequence

DOCTOR: Final = "`benchgate doctor` reports sources of noise"
LAST_RUNS: Final = 5  # runs that the expected duration is the median of
_FEWEST_RUNS: Final = 3  # with fewer, one unusual run would decide
_MINUTES: Final = 60
_NAMED: Final = 5  # benchmarks; enough to recognise how names are written
_SHORT: Final = 10.0  # seconds; below, tenths matter


def more_time(*, is_asked: bool) -> str:
    """Explain how to get more machine time: by the option if a person used it, else by the policy."""
    return "raise `--minutes`" if is_asked else "raise machine_time in benchgate.yaml"


def cost(
    pair_seconds: float, machine_time: float, needed: int, set_up: float = 0.0, *, is_asked: bool = False
) -> str:
    """Compare the pairs that the machine time allows with the least that can find a difference.

    ``set_up`` is the part of a pair's seconds that does not depend on what it measures; it is named if it is
    at least half. ``is_asked``: a person chose the machine time of this build.
    """
    pairs = int(machine_time / pair_seconds) if pair_seconds else 0
    takes = f"{pair_seconds:.2g} s" if pair_seconds < _SHORT else duration(pair_seconds)
    remedy = more_time(is_asked=is_asked)
    if set_up and set_up >= pair_seconds / 2:
        # Measured in an earlier launch, which may have taken longer than this whole pair.
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


def confirming(job: str, benchmarks: Sequence[str], seconds: float) -> str:
    """Announce relinks, which take about ``seconds``, including building them."""
    return (
        f"{plain(job)}: confirming {listed(benchmarks, _NAMED)} on up to {min(LOOKS)} relinked programs "
        f"({max(LOOKS)} if one disagrees), about {duration(seconds)}, including building them"
    )


def relinks_outlook(relinks: int, seconds: float) -> str:
    """Say how many ``seconds`` the relinks up to this number take; empty for 0."""
    return f", about {duration(seconds)} for {relinks}" if seconds else ""


def relinks_cut_short(relinks: int, seconds: float, spent: float, *, is_asked: bool) -> str:
    """Explain that too little machine time is left for relinks.

    They take about ``seconds``, unknown if 0, or more than they have ``spent``.
    """
    takes = f", which take about {duration(seconds)}" if seconds else ""
    takes = f", which take more than {duration(spent)}" if spent > seconds else takes
    return f"the machine time ends before {relinks} relinked programs{takes}: {more_time(is_asked=is_asked)}"


def cached(hits: int, compilations: int) -> str:
    """Write the hit rate of the compiler cache."""
    return f"compiler cache: {hits} of {compilations} object files were compiled before"


def pairs_too_few(pairs: int, needed: int) -> str:
    """Explain that the requested pairs are too few to find a difference."""
    return f"no difference can be found in {pairs} pairs, so there is no +1: ask for {needed} or more"


def pairs_cut_short(pairs: int, asked: int, machine_time: float) -> str:
    """Explain why there are fewer pairs than requested."""
    return (
        f"the machine time ({duration(machine_time)}) ended measuring after {pairs} of {asked} pairs: "
        "`--minutes` allows more"
    )


def interrupted_after(pairs: int) -> str:
    """Say that a person ended measuring early, and what the verdicts are worth."""
    return (
        f"interrupted after {pairs} pair{'' if pairs == 1 else 's'}: verdicts reached by then hold, and the "
        "others are open"
    )


def none_chosen(pattern: str, others: Sequence[str]) -> str:
    """Explain that a filter matches no benchmark of a job, and name some that exist."""
    some = f"the job has {listed(others, _NAMED)}" if others else "the job has no benchmark at all"
    return (
        f"no benchmark is named like the filter {plain(pattern)}, which is a part of a name, or a whole name "
        f"in which `*` stands for any characters; {some}"
    )


def noise(low: float, high: float, least: float) -> str:
    """Report the spread of pairs, and the least change that can be found despite it."""
    by = share(low) if share(low) == share(high) else f"{share(low)} to {share(high)}"
    found = f"a change below {share(least)} will hardly be found in the machine time"
    return f"pairs vary by {by}: {found}; {DOCTOR}"


def expected_duration(seconds: Sequence[float], branch: str) -> str:
    """Estimate the duration of a run by the ``seconds`` of the last ones; empty with fewer than three."""
    if len(seconds) < _FEWEST_RUNS:
        return ""
    minutes = max(1, round(median(seconds) / _MINUTES))
    hours, rest = divmod(minutes, _MINUTES)
    parts = [f"{hours} h"] * bool(hours) + [f"{rest} min"] * bool(rest)
    return f"About {' '.join(parts)}, as the last {len(seconds)} runs on {plain(branch, 100)} took."
