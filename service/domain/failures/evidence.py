"""Judge a signature by its history: whether it is intermittent, is gone, or depends on a machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from service.domain.failures.output.ends import is_specific
from service.domain.values.identity import BuildName  # noqa: TC001 - the API's document reads the annotation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from service.domain.failures.failure import Failure


APART: Final = timedelta(hours=6)  # longer than most outages, which fail unrelated changes together
LEAST_FAILURES: Final = 5  # of a signature before a machine is named
ALPHA: Final = 0.01  # chance to name a machine although the signature depends on none
UNSEEN: Final = 30  # builds; a failure of one build in ten misses all of them with a chance of 4 %
CLOSING: Final = 0.05  # chance that a failure as frequent as before was absent by luck
_Z: Final = 1.959963984540054  # the 97.5 % quantile of the normal distribution, for 95 % intervals


@dataclass(frozen=True, slots=True)
class Rate:
    """The number of builds with a signature, of all that could have shown it."""

    failed: int
    builds: int

    def __post_init__(self) -> None:
        if not 0 <= self.failed <= self.builds:
            raise ValueError(f"{self.failed} of {self.builds} builds cannot have failed")

    @property
    def share(self) -> float:
        """Failed builds by all builds; 0 without builds."""
        return self.failed / self.builds if self.builds else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson score interval of the share; [0, 1] without builds.

        Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the
        American Statistical Association 22, 1927. Unlike the normal approximation, it has a width if no build
        failed, and never leaves [0, 1].
        """
        if not self.builds:
            return 0.0, 1.0
        n, p = self.builds, self.share
        centre = p + _Z**2 / (2 * n)
        reach = _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
        low, high = ((centre + side) / (1 + _Z**2 / n) for side in (-reach, reach))
        return (low if self.failed else 0.0), (high if self.failed < n else 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One build with a signature.

    Args:
        change: the change that was built; the commit for a post-submit build.
        revision: the commit that was built.
        parent: the parent of that commit.
        host: the machine that built it; empty if unknown.
        at: the end of the build.
        fails_on_parent: a finished build of the same job at the parent has the signature too, and no retry
            passed there.
        passed_on_retry: another try or build of the same trees and configuration passed.
    """

    change: str
    revision: str
    parent: str
    host: str
    at: datetime
    fails_on_parent: bool = False
    passed_on_retry: bool = False


class Ground(StrEnum):
    """A reason to believe that a signature is intermittent or not caused by the change."""

    UNRELATED_CHANGES = "unrelated changes"
    FAILS_ON_PARENT = "fails on the parent"
    PASSED_ON_RETRY = "passed on a retry"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal to treat a signature as intermittent. ``changes`` counts unrelated ones."""

    grounds: tuple[Ground, ...]
    changes: int


@dataclass(frozen=True, slots=True)
class ExplainingMachine:
    """A machine where a signature is more frequent than on others; ``p`` is Holm-adjusted."""

    host: str
    rate: Rate
    p: float


def proposal_of(sightings: Sequence[Sighting]) -> Proposal | None:
    """Propose a signature as intermittent; None without a ground.

    A ground is two unrelated changes more than six hours apart, a parent that fails too, or a retry of the
    same revision that passed. Changes are related if one is built on the other, also through other sightings.
    """
    if not sightings:
        return None
    spans = _spans(sightings)
    found = {
        Ground.UNRELATED_CHANGES: _are_apart(spans),
        Ground.FAILS_ON_PARENT: any(sighting.fails_on_parent for sighting in sightings),
        Ground.PASSED_ON_RETRY: any(sighting.passed_on_retry for sighting in sightings),
    }
    grounds = tuple(ground for ground in Ground if found[ground])
    if not grounds:
        return None
    return Proposal(grounds, len(spans))


def is_proposed_for_closing(active: Rate, builds_since: int) -> bool:
    """Return whether a known failure stopped occurring: ``(1 − p)ⁿ < 0.05``.

    This is the chance of no failure in ``n`` independent builds that each fail with probability ``p``.

    Args:
        active: the rate from the first to the last sighting, which gives p.
        builds_since: n, the builds in its scope since the last sighting.
    """
    return (1 - active.share) ** builds_since < CLOSING


def explaining_machines(rates: Mapping[str, Rate]) -> tuple[ExplainingMachine, ...]:
    """Name the machines where a signature is significantly more frequent, the most certain first.

    Each machine is compared with all others by :func:`fisher_exact`. Holm's procedure keeps the family-wise
    error rate at :data:`ALPHA` (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6, 1979). Machines without builds are left out, and fewer failures than
    :data:`LEAST_FAILURES` name none.

    Args:
        rates: by machine, of the builds that could have shown the signature.
    """
    used = {host: rate for host, rate in rates.items() if rate.builds}
    whole = Rate(sum(rate.failed for rate in used.values()), sum(rate.builds for rate in used.values()))
    if whole.failed < LEAST_FAILURES:
        return ()
    ordered = sorted((fisher_exact(rate, whole), host) for host, rate in used.items())
    named, adjusted = [], 0.0
    for place, (p, host) in enumerate(ordered):
        adjusted = max(adjusted, min((len(ordered) - place) * p, 1.0))
        if adjusted > ALPHA:
            break
        named.append(ExplainingMachine(host, used[host], adjusted))
    return tuple(named)


def fisher_exact(part: Rate, whole: Rate) -> float:
    """Return the one-sided p-value of Fisher's exact test against "the part fails no more than the rest".

    It is the upper tail of the hypergeometric distribution: the probability that, of ``whole.failed``
    failures among ``whole.builds`` builds, at least ``part.failed`` fall on the ``part.builds`` by chance
    (Fisher, "Statistical Methods for Research Workers", 5th edition, 1934, section 21.02).

    Args:
        part: the builds of one machine.
        whole: the builds of all machines, this one included.
    """
    others = whole.builds - part.builds
    if whole.failed - part.failed > others or part.failed > whole.failed:
        raise ValueError("the part is not a part of the whole")
    most = min(whole.failed, part.builds)
    ways = _log_choose(whole.builds, whole.failed)
    tail = math.fsum(
        math.exp(_log_choose(part.builds, k) + _log_choose(others, whole.failed - k) - ways)
        for k in range(max(part.failed, whole.failed - others), most + 1)
    )
    return min(tail, 1.0)


def _log_choose(n: int, k: int) -> float:
    """Return the logarithm of the binomial coefficient, with n! = Γ(n + 1)."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _spans(sightings: Iterable[Sighting]) -> list[tuple[datetime, datetime]]:
    """Return the first and last sighting of each group of related changes."""
    group_of: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := group_of.setdefault(name, name)) != name:
            group_of[name] = name = group_of[above]
        return name

    known = list(sightings)
    built = {sighting.revision for sighting in known}
    for sighting in known:
        group_of[root(f"revision {sighting.revision}")] = root(f"change {sighting.change}")
        if sighting.parent in built:
            group_of[root(f"revision {sighting.parent}")] = root(f"revision {sighting.revision}")
    spans: dict[str, tuple[datetime, datetime]] = {}
    for sighting in known:
        group = root(f"change {sighting.change}")
        first, last = spans.get(group, (sighting.at, sighting.at))
        spans[group] = min(first, sighting.at), max(last, sighting.at)
    return list(spans.values())


def _are_apart(spans: Sequence[tuple[datetime, datetime]]) -> bool:
    """Return whether sightings of two different groups are more than six hours apart."""
    # The earliest and the latest are furthest apart; if one group has both, pair each with another group.
    first = min(range(len(spans)), key=lambda place: spans[place][0])
    last = max(range(len(spans)), key=lambda place: spans[place][1])
    others = [span for place, span in enumerate(spans) if place not in {first, last}]
    if first != last:
        return spans[last][1] - spans[first][0] > APART
    return any(end - spans[first][0] > APART or spans[last][1] - begin > APART for begin, end in others)


@dataclass(frozen=True, slots=True)
class ParentBuild:
    """A build of the parent, and the names of failures that also occur there."""

    build: BuildName
    names: tuple[str, ...]


def parent_builds(found: Iterable[tuple[Failure, BuildName]]) -> tuple[ParentBuild, ...]:
    """Group failures by the build of the parent that has them too, in order.

    Unspecific failures are left out, because many faults share their signatures.
    """
    names: dict[BuildName, dict[str, None]] = {}
    for failure, build in found:
        if is_specific(failure):
            names.setdefault(build, {})[failure.subject or failure.headline] = None
    return tuple(ParentBuild(build, tuple(each)) for build, each in names.items())
