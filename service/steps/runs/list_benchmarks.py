"""List a job's benchmarks, the time of a launch, and the pairs that the machine time allows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.domain.building.spec import MorePairs
from service.domain.measuring.pair_record import read_pairs
from service.domain.values.identity import RunKind, Side
from service.steps.measuring.course import Course
from service.steps.runs.gate import ALL, LocalVerdict, execute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.building.spec import BuildSpec
    from service.domain.measuring.listing import Listing
    from service.ports.building import Progress
    from service.steps.building.session import BuildHost
    from service.steps.runs.gate import LocalClaimed

_ONE_PAIR: Final = MorePairs(ALL, 1)


@dataclass(frozen=True, slots=True)
class ListedSuite:
    """The benchmarks of a suite, and the seconds that a launch of each side takes.

    ``pairs`` is how many fit into the job's machine time without the other suites; None: the sides have no
    benchmark in common, so nothing was launched.
    """

    listing: Listing
    seconds: Mapping[Side, float]
    pairs: int | None


@dataclass(frozen=True, slots=True)
class ListedJob:
    """The suites of a job, and the seconds of a pair of launches of all of them.

    ``needed`` counts the pairs up to the first look that can find a difference; ``outlook`` says whether
    they fit. ``pair_seconds`` is 0 if the sides have no benchmark in common. ``seconds`` is the duration of
    each phase, ``causes`` are warnings.
    """

    job: str
    suites: tuple[ListedSuite, ...]
    machine_time: float
    pair_seconds: float
    needed: int
    outlook: str
    seconds: Mapping[str, float]
    causes: tuple[str, ...] = ()

    @property
    def pairs(self) -> int | None:
        """The pairs that fit into the machine time; None if nothing was launched."""
        return int(self.machine_time / self.pair_seconds) if self.pair_seconds else None


def listing_spec(spec: BuildSpec) -> BuildSpec:
    """Make the specification of one pair of all benchmarks.

    It is a calibration's: that also measures equal programs, counts no instructions and runs no tests.
    """
    return replace(spec, kind=RunKind.CALIBRATION, longer=_ONE_PAIR)


def list_benchmarks(
    spec: BuildSpec, build: LocalClaimed, host: BuildHost, progress: Progress
) -> ListedJob | LocalVerdict:
    """Build both sides, list their benchmarks and measure one pair; a verdict if that is not possible.

    Args:
        spec: of :func:`listing_spec`, which ``build`` has too.
        build: the local build.
        host: builds and launches.
        progress: shows the phases.
    """
    # The load never differs from itself, so no pair is measured again because other work disturbed it.
    load = host.read_load()
    report = execute(spec, build, replace(host, read_load=lambda: load), _Phases(progress))
    if isinstance(report, LocalVerdict):
        return report
    seconds: defaultdict[str, dict[Side, float]] = defaultdict(dict)
    for launch in read_pairs(build.pairs(), spec.job.benchmark.suites).as_built:
        seconds[launch.suite][launch.side] = launch.seconds
    launched = sum(sum(sides.values()) for sides in seconds.values())
    pair = report.seconds["measure"] if launched else 0.0
    time = spec.job.policy.machine_time

    def pairs_of(suite: str) -> int | None:
        # With its part of the time between the launches.
        part = pair * sum(seconds[suite].values()) / launched if launched else 0.0
        return int(time / part) if part else None

    suites = tuple(ListedSuite(each, seconds[each.suite], pairs_of(each.suite)) for each in build.listings)
    course = Course.of(spec, tuple(build.listings))
    outlook = course.cost(pair)
    return ListedJob(
        spec.job.name, suites, time, pair, course.decisive, outlook, report.seconds, report.causes
    )


class _Phases:
    """Progress without the lines that stay: the listing says what they say."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def say(self, text: str, done: float | None = None) -> None:
        """Show the current activity."""
        self._progress.say(text, done)

    def note(self, text: str) -> None:
        """Show nothing."""
