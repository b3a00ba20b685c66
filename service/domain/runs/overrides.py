"""Decisions of people about one revision: an append-only log, and what of it is in force."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from service.domain.runs.vote import Outcome

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
