"""Waive failures of builds by overrides and by known failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from service.domain.failures.known import KnownMatches
from service.domain.project.benchmark_names import is_chosen
from service.domain.runs.overrides import ACCEPTABLE, Override, OverrideKind, active_overrides
from service.domain.runs.vote import CONSEQUENCES, Counts, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from service.domain.runs.slowdown import Slowdown

Waiver: TypeAlias = Override | KnownMatches
"""Reason why the failure of a build does not count."""


@dataclass(frozen=True, slots=True)
class JudgedBuild:
    """A finished build.

    ``blamed`` names the slower and removed benchmarks that would vote −1. ``known`` has the known failures
    that its failures matched when its run was decided; None if one matched nothing. ``slowdowns`` are the
    rows of the slower benchmarks that vote; None if an earlier version stored the build without them.
    """

    id: int
    outcome: Outcome
    blamed: tuple[str, ...] = ()
    known: KnownMatches | None = None
    slowdowns: tuple[Slowdown, ...] | None = None


@dataclass(frozen=True, slots=True)
class Beyond:
    """Slow-down of an accepted benchmark beyond its acceptance.

    ``level`` is the accepted worsening; minus infinity if the row was not slower then.
    """

    row: Slowdown
    accept: Override
    level: float


def waived_by(
    builds: Iterable[JudgedBuild], overrides: Iterable[Override], revision: str
) -> tuple[Waiver | None, ...]:
    """Find the waiver of each build's failure: the newest override, else its known failures.

    An override waives the builds that had failed when it was made. Accepts waive a slower build, or one with
    removed benchmarks, if together they cover every benchmark that would vote −1. They also apply to a rerun,
    up to the level at which they were made: the lower end of the new interval is compared with the upper end
    of the accepted one, so that noise alone never brings a −1 back. Known failures waive failures of tests,
    compilers and linters, not measurements.
    """
    newest_first = active_overrides(overrides, revision)[::-1]
    return tuple(_waiver(build, newest_first) for build in builds)


def _waiver(build: JudgedBuild, newest_first: Sequence[Override]) -> Waiver | None:
    if CONSEQUENCES[build.outcome].counts is not Counts.FAIL:
        return None
    for each in newest_first:
        if each.kind is OverrideKind.OVERRIDE and build.id in each.builds:
            return each
    if build.outcome is Outcome.FAILED:
        return build.known
    if build.outcome not in ACCEPTABLE:
        return None
    found = [each for name in build.blamed for each in _acceptances(name, build, newest_first)]
    needed = [each for each in found if each is not None]
    # Without a blamed benchmark, there is nothing to accept.
    return max(needed, key=lambda each: each.id) if needed and len(needed) == len(found) else None


def _acceptances(
    name: str, build: JudgedBuild, newest_first: Sequence[Override]
) -> Sequence[Override | None]:
    """Find the accept that covers each row of a benchmark; a removed one has no rows and needs one accept."""
    accepts = _accepts_of(name, newest_first)
    rows = [row for row in build.slowdowns or () if row.benchmark == name]
    if not rows:
        return [next(iter(accepts), None)]
    return [next((each for each in accepts if row.least <= each.level_of(row)), None) for row in rows]


def _accepts_of(name: str, newest_first: Sequence[Override]) -> Sequence[Override]:
    accepts = (each for each in newest_first if each.kind is OverrideKind.ACCEPT)
    return [each for each in accepts if is_chosen(each.filter, name)]


def beyond_acceptance(build: JudgedBuild, overrides: Iterable[Override], revision: str) -> tuple[Beyond, ...]:
    """List the slow-downs of accepted benchmarks that exceed the acceptance in job, metric or size."""
    newest_first = active_overrides(overrides, revision)[::-1]
    found = []
    for row in build.slowdowns or ():
        accepts = _accepts_of(row.benchmark, newest_first)
        best = max(accepts, key=lambda each: each.level_of(row), default=None)
        if best is not None and row.least > best.level_of(row):
            found.append(Beyond(row, best, best.level_of(row)))
    return tuple(found)
