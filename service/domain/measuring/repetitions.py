"""Repetitions of a launch: many short ones of a benchmark if that is cheap, else a few long ones.

The fastest of many repetitions of 2 ms spreads by a tenth to a half as much as the fastest of three that take
the same time together: disturbances of a CPU come in bursts, and a short repetition fits between two bursts.
``docs/contributor/measurements.md`` has the measured spreads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from service.domain.measuring.launch_order import threads_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from service.domain.measuring.formats.reader import GBenchRun
    from service.domain.project.benchmark import Suite


@dataclass(frozen=True, slots=True)
class Repetitions:
    """The number of repetitions of a benchmark, each of at least ``min_time`` seconds."""

    count: int
    min_time: float


SHORT: Final = Repetitions(20, 0.002)
LONG: Final = Repetitions(3, 0.05)
_CHEAP: Final = 0.01  # seconds of a repetition, up to which twenty cost little more than three long ones
_SETUP: Final = 0.05  # untimed seconds per benchmark, beyond which each repetition sets up for too long
# Untimed seconds of a launch, from which on a program may set up for long whatever it measures; starting one
# in the sandbox takes less.
_LONG_SETUP: Final = 0.2
# More repetitions may add this share of the program's set-up to a launch, up to so many times the usual ones:
# from 5 to 10 and from 10 to 20 repetitions of 2 ms, the spread of recorded pairs fell by 40 % each time.
_ADDED: Final = 0.25
_MOST: Final = 5
# They never make a launch longer than this share of its time limit: one on a busy machine takes longer.
_OF_TIMEOUT: Final = 0.5


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """One launch or more that repeated benchmarks once: those that ran, and how long all of it took.

    ``timed`` are the seconds that the program timed each of them for.
    """

    ran: frozenset[str] = frozenset()
    timed: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    launches: int = 1

    @staticmethod
    def of(run: GBenchRun, ran: Iterable[str], seconds: float) -> Rehearsed:
        """Read a launch that took so many seconds."""
        names = frozenset(ran)
        timed: dict[str, float] = {}
        for row in run.rows:
            if row.is_measured and row.name in names:  # more than once if the program itself repeats it
                timed[row.name] = timed.get(row.name, 0.0) + row.values["real_time"] * row.iterations
        return Rehearsed(names, timed, seconds)

    def __or__(self, other: Rehearsed) -> Rehearsed:
        return Rehearsed(
            self.ran | other.ran,
            {**self.timed, **other.timed},
            self.seconds + other.seconds,
            self.launches + other.launches,
        )

    @property
    def untimed(self) -> float:
        """The seconds in which nothing was timed."""
        return max(0.0, self.seconds - sum(self.timed.values()))

    @property
    def quickest(self) -> str:
        """The benchmark to launch alone, to tell the set-up of the program from those of its benchmarks.

        Empty if that would tell nothing: there is only one, or the program sets up quickly.
        """
        if len(self.timed) < 2 or self.untimed <= _LONG_SETUP * self.launches:  # noqa: PLR2004 - one and others
            return ""
        return min(self.timed, key=lambda name: (self.timed[name], name))


@dataclass(frozen=True, slots=True)
class Plan:
    """The repetitions of a suite's benchmarks on one side.

    ``long`` are the benchmarks with few and long ones, ``multiple`` is how many times as many as usual all of
    them get, and ``set_up`` the seconds that a launch takes whatever it measures.
    """

    long: frozenset[str] = frozenset()
    set_up: float = 0.0
    multiple: int = 1


def plan_repetitions(suite: Suite, together: Rehearsed, alone: Rehearsed | None = None) -> Plan:
    """Plan by a rehearsal of all benchmarks, and one of the ``quickest`` alone if there is one.

    Few and long repetitions are for benchmarks whose repetitions take long anyway, and those of several
    threads: threads take turns of milliseconds, so a short repetition may time one of them alone. If
    benchmarks set up for long, all get long repetitions. So they do if some are long and a launch of its own
    for the others would set up the program again, which takes longer than their long repetitions.
    """
    names, launches = together.ran, together.launches
    if not names:
        return Plan()
    set_up, own = _set_ups(together, alone)
    if own > _SETUP:
        long = names
    else:
        slow = (name for name, seconds in together.timed.items() if seconds > _CHEAP)
        long = frozenset(slow) | {name for name in names if threads_of(name) > 1}
        longer = LONG.count * LONG.min_time - SHORT.count * SHORT.min_time
        if long and set_up > longer * len(names - long):
            long = names
    usual = sum(
        each.count * (max(each.min_time, together.timed.get(name, 0.0)) + own)
        for name in names
        for each in [repetitions_of(suite, is_long=name in long)]
    )
    room = min(_ADDED * set_up, _OF_TIMEOUT * suite.timeout - set_up - usual / launches)
    more = int(room * launches / usual) if room > 0 and not suite.repetitions else 0
    return Plan(long, round(set_up, 3), min(1 + more, _MOST))


def _set_ups(together: Rehearsed, alone: Rehearsed | None) -> tuple[float, float]:
    """The seconds in which the program and each benchmark set up, in a launch that repeats them once."""
    count, launches = len(together.ran), together.launches
    if alone is None or count <= launches:
        return 0.0, together.untimed / count
    own = max(0.0, together.untimed - launches * alone.untimed) / (count - launches)
    return min(max(0.0, alone.untimed - own), together.untimed / launches), own


def repetitions_of(suite: Suite, *, is_long: bool, multiple: int = 1) -> Repetitions:
    """The repetitions that the suite asks for, else ``multiple`` times those that fit the benchmark."""
    fitting = LONG if is_long or suite.repetitions is not None else SHORT
    return Repetitions(suite.repetitions or multiple * fitting.count, suite.min_time or fitting.min_time)
