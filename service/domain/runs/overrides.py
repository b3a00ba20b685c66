"""Waive failures of builds by overrides, which people decide for one revision, and by known failures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from service.domain.failures.known import KnownMatches
from service.domain.project.benchmark_names import is_chosen
from service.domain.runs.vote import CONSEQUENCES, Counts, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from service.domain.runs.slowdown import Slowdown


class OverrideKind(StrEnum):
    """Kinds of decisions that a person makes."""

    OVERRIDE = "override"  # failed builds do not count
    ACCEPT = "accept"  # benchmarks may be slower or removed
    UNDO = "undo"  # revokes all overrides and accepts so far
    TRUST = "trust"  # the code of the revision may be run
    PERSON_VOTE = "person vote"  # replaced the bot's vote on the review server: shown, waives nothing


# REMOVED, because a renamed benchmark is removed under its old name.
ACCEPTABLE: Final = frozenset({Outcome.SLOWER, Outcome.REMOVED})
_CAN_BE_UNDONE: Final = frozenset({OverrideKind.OVERRIDE, OverrideKind.ACCEPT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A person's decision about one revision: an entry of an append-only log.

    Args:
        id: grows with every entry, from 1.
        kind: the kind of the decision.
        revision: the commit ID; nothing carries over to another.
        filter: the benchmarks of an accept, as in :mod:`service.domain.project.benchmark_names`.
        bug: the bug id or URL; may be empty.
        reason: the person's own words.
        who: the person's display name.
        account: the person's account on the review server.
        at: the time of the decision.
        builds: the builds that an override covers; a later failure needs its own override.
        carried_from: the patch set with the same code that the person decided on; 0: this one.
        levels: the slow-downs that an accept covers, as they were at that time; None (stored by an earlier
            version) covers any size.
    """

    id: int
    kind: OverrideKind
    revision: str
    filter: str = ""
    bug: str = ""
    reason: str = ""
    who: str
    account: str
    at: datetime
    builds: frozenset[int] = frozenset()
    carried_from: int = 0
    levels: tuple[Slowdown, ...] | None = None

    def level_of(self, row: Slowdown) -> float:
        """Find the largest worsening of a metric that an accept covers; minus infinity if none."""
        if self.levels is None:
            return math.inf
        return max((each.most for each in self.levels if each.key == row.key), default=-math.inf)


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


def active_overrides(overrides: Iterable[Override], revision: str) -> tuple[Override, ...]:
    """List the overrides in force on a revision, oldest first.

    ``undo`` does not revoke a person's vote on the review server.
    """
    made = sorted((each for each in overrides if each.revision == revision), key=lambda each: each.id)
    undone_up_to = max((each.id for each in made if each.kind is OverrideKind.UNDO), default=0)
    return tuple(
        each
        for each in made
        if each.kind is OverrideKind.PERSON_VOTE or (each.kind in _CAN_BE_UNDONE and each.id > undone_up_to)
    )


def revoked(overrides: Sequence[Override], revision: str) -> tuple[Override, ...]:
    """List the overrides and acceptances of a revision that are no longer in force, oldest first."""
    in_force = {each.id for each in active_overrides(overrides, revision)}
    made = (each for each in overrides if each.revision == revision and each.kind in _CAN_BE_UNDONE)
    return tuple(sorted((each for each in made if each.id not in in_force), key=lambda each: each.id))


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
