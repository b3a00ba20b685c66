"""Decides which failed builds of a revision do not count, by what people ruled about exactly that one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.comparison.benchmark_filter import is_chosen
from service.domain.decision.vote import CONSEQUENCES, Counts, Outcome
from service.domain.gerrit.comment_commands import MAX_REASON
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime


class OverrideKind(StrEnum):
    """What a person decided."""

    OVERRIDE = "override"  # failed builds do not count
    ACCEPT = "accept"  # benchmarks may be slower
    UNDO = "undo"  # all overrides and accepts so far are taken back
    TRUST = "trust"  # the code of the revision may be run
    PERSON_VOTE = "person vote"  # the bot's vote was replaced on the review server: told, excuses nothing


_CAN_BE_UNDONE: Final = frozenset({OverrideKind.OVERRIDE, OverrideKind.ACCEPT})
_WORDS: Final = MappingProxyType(
    {
        OverrideKind.OVERRIDE: "overridden by {who}",
        OverrideKind.ACCEPT: "{filter} accepted by {who}",
        OverrideKind.UNDO: "overrides taken back by {who}",
        OverrideKind.TRUST: "allowed to run by {who}",
        OverrideKind.PERSON_VOTE: "overridden on the review server by {who}",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """What one person decided about one revision; an entry of a log that only grows.

    Args:
        id: grows with every entry, from 1.
        kind: what was decided.
        revision: the commit id; nothing carries over to another.
        filter: of an accept, as :func:`service.domain.comparison.benchmark_filter.is_chosen` reads it.
        bug: the bug id or URL; may be empty.
        reason: in the person's words.
        who: the person's display name.
        account: what the review server knows the person by.
        at: when.
        builds: of an override, the builds that it is about: a later failure needs a ruling of its own.
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


@dataclass(frozen=True, slots=True)
class JudgedBuild:
    """A finished build; ``slower`` names the benchmarks with a slower row that would vote −1."""

    id: int
    outcome: Outcome
    slower: tuple[str, ...] = ()


def active_overrides(overrides: Iterable[Override], revision: str) -> tuple[Override, ...]:
    """The rulings in force on a revision, oldest first, whoever made or took back what.

    A person's vote on the review server is not ours to take back.
    """
    made = sorted((each for each in overrides if each.revision == revision), key=lambda each: each.id)
    undone_up_to = max((each.id for each in made if each.kind is OverrideKind.UNDO), default=0)
    return tuple(
        each
        for each in made
        if each.kind is OverrideKind.PERSON_VOTE or (each.kind in _CAN_BE_UNDONE and each.id > undone_up_to)
    )


def revoked(overrides: Sequence[Override], revision: str) -> tuple[Override, ...]:
    """The overrides and acceptances of a revision that are no longer in force, oldest first."""
    in_force = {each.id for each in active_overrides(overrides, revision)}
    made = (each for each in overrides if each.revision == revision and each.kind in _CAN_BE_UNDONE)
    return tuple(sorted((each for each in made if each.id not in in_force), key=lambda each: each.id))


def waived_by(
    builds: Iterable[JudgedBuild], overrides: Iterable[Override], revision: str
) -> tuple[Override | None, ...]:
    """For each build of the revision the ruling by which its failure does not count, the newest of several.

    An override excuses the failed builds that there were when it was made. A build that is slower is also
    excused where accepts, together, choose every benchmark that would vote −1; a re-run may use them again.
    """
    newest_first = active_overrides(overrides, revision)[::-1]
    return tuple(_waiver(build, newest_first) for build in builds)


def sentence(override: Override) -> str:
    """The line of the message that says who decided what and why."""
    told = _WORDS[override.kind].format(who=plain(override.who) or "somebody", filter=plain(override.filter))
    reason, bug = plain(override.reason, MAX_REASON), plain(override.bug)
    named = f" ({bug})" if bug and not _names(reason, bug) else ""
    return f"{told}: {reason}{named}" if reason else f"{told}{named}"


def _waiver(build: JudgedBuild, newest_first: Sequence[Override]) -> Override | None:
    if CONSEQUENCES[build.outcome].counts is not Counts.FAIL:
        return None
    overrides = (
        each for each in newest_first if each.kind is OverrideKind.OVERRIDE and build.id in each.builds
    )
    return next(overrides, None) or _acceptance(build, newest_first)


def _acceptance(build: JudgedBuild, newest_first: Sequence[Override]) -> Override | None:
    if build.outcome is not Outcome.SLOWER:
        return None
    accepts = [each for each in newest_first if each.kind is OverrideKind.ACCEPT]
    found = [_accepting(name, accepts) for name in build.slower]
    needed = [each for each in found if each is not None]
    # Of a build that names no benchmark nobody can say that all were accepted.
    return max(needed, key=lambda each: each.id) if needed and len(needed) == len(found) else None


def _accepting(benchmark: str, accepts: Sequence[Override]) -> Override | None:
    return next((each for each in accepts if is_chosen(each.filter, benchmark)), None)


def _names(text: str, bug: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(bug)}(?![\w-])", text) is not None
