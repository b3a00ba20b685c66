"""Plan the repetitions of a launch: many short ones of a benchmark if that is cheap, else a few long ones.

The fastest of many repetitions of 2 ms spreads by a tenth to a half as much as the fastest of three that take
the same time together: CPUs are disturbed in bursts, and a short repetition fits between two bursts.
``docs/contributor/measurements.md`` has the measured spreads.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from service.domain.measuring.launch_order import threads_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from service.domain.measuring.formats.reader import GBenchRun
    from service.domain.project.benchmark import Suite


@dataclass(frozen=True, slots=True)
class Repetitions:
    """Repetitions of a benchmark, each of at least ``min_time`` seconds."""

    count: int
    min_time: float


SHORT: Final = Repetitions(20, 0.002)
LONG: Final = Repetitions(3, 0.05)
_CHEAP: Final = 0.01  # seconds; up to this, twenty repetitions cost little more than three long ones
_SETUP: Final = 0.05  # untimed seconds per benchmark; above, each repetition sets up for too long
# Untimed seconds of a launch; above, the program may have a long set-up. Starting in the sandbox takes less.
_LONG_SETUP: Final = 0.2
# Extra repetitions may take this share of the program's set-up, up to a multiple of the usual number: from 5
# to 10 and from 10 to 20 repetitions of 2 ms, the spread of recorded pairs fell by 40 % each time.
_ADDED: Final = 0.25
_MOST: Final = 5
# They keep a launch below this share of its time limit, because it takes longer on a busy machine.
_OF_TIMEOUT: Final = 0.5


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """Launches that repeated benchmarks once: those that ran, and the time of all launches.

    ``timed`` has the seconds that the program timed each benchmark for.
    """

    ran: frozenset[str] = frozenset()
    timed: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    launches: int = 1

    @staticmethod
    def of(run: GBenchRun, ran: Iterable[str], seconds: float) -> Rehearsed:
        """Read a launch that took ``seconds``."""
        names = frozenset(ran)
        timed: dict[str, float] = {}
        for row in run.rows:
            if row.is_measured and row.name in names:  # several rows if the program sets Repetitions()
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
        """Seconds without timing."""
        return max(0.0, self.seconds - sum(self.timed.values()))

    def under(self, names: Mapping[str, str]) -> Rehearsed:
        """Return the launches with other names for the benchmarks that ran."""
        timed = {names[each]: seconds for each, seconds in self.timed.items()}
        return replace(self, ran=frozenset(names[each] for each in self.ran), timed=timed)

    def seconds_of(self, suite: Suite, name: str, long: Collection[str]) -> float:
        """Estimate the seconds of a benchmark that ran in a launch that counts; ``long`` ones set up anew."""
        each, set_up = repetitions_of(suite, is_long=name in long), self.untimed / len(self.ran)
        times = each.count if name in long else 1
        return each.count * max(each.min_time, self.timed.get(name, 0.0)) + times * set_up

    @property
    def quickest(self) -> str:
        """Benchmark to launch alone, to tell the program's set-up from those of its benchmarks.

        Empty if there is only one, or the program sets up quickly.
        """
        if len(self.timed) < 2 or self.untimed <= _LONG_SETUP * self.launches:  # noqa: PLR2004 - one and others
            return ""
        return min(self.timed, key=lambda name: (self.timed[name], name))


@dataclass(frozen=True, slots=True)
class Plan:
    """Repetitions of a suite's benchmarks on one side.

    ``long`` has the benchmarks with few and long ones, ``multiple`` is the factor on the usual number of all,
    and ``set_up`` is the seconds that a launch takes whatever it measures.
    """

    long: frozenset[str] = frozenset()
    set_up: float = 0.0
    multiple: int = 1


def plan_repetitions(suite: Suite, together: Rehearsed, alone: Rehearsed | None = None) -> Plan:
    """Plan by a rehearsal of all benchmarks, and one of the ``quickest`` alone if there is one.

    Benchmarks get few and long repetitions if one takes long anyway, or if they have several threads, which
    take turns of milliseconds, so that a short repetition may time one of them alone. All get long
    repetitions if benchmarks have a long set-up, or if some are long and a separate launch of the others
    would spend more on the program's set-up than their long repetitions take.
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
    """Estimate the set-up seconds of the program and of each benchmark, in a launch without repetitions."""
    count, launches = len(together.ran), together.launches
    if alone is None or count <= launches:
        return 0.0, together.untimed / count
    own = max(0.0, together.untimed - launches * alone.untimed) / (count - launches)
    return min(max(0.0, alone.untimed - own), together.untimed / launches), own


def repetitions_of(suite: Suite, *, is_long: bool, multiple: int = 1) -> Repetitions:
    """Choose the repetitions that the suite sets, else ``multiple`` times those that fit the benchmark."""
    fitting = LONG if is_long or suite.repetitions is not None else SHORT
    return Repetitions(suite.repetitions or multiple * fitting.count, suite.min_time or fitting.min_time)
