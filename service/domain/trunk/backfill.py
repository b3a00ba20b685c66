"""Choose which commits of a branch are measured in pairs though they were merged long ago.

A link compares two commits. It never leads over a commit that was measured after its merge, so that the
trends have all of them in one line.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from service.domain.sources.commit import BranchCommit

MOST_COMMITS: Final = 2000
_MOST_FAILURES: Final = 2  # an old commit that does not build twice needs another compiler or library
_MOST_TRIES: Final = 20  # including those that another build ended: their pairs go on


@dataclass(frozen=True, slots=True)
class Backfill:
    """A request to measure the last ``commits`` commits of a branch.

    Each is compared with its first parent, or only every ``every``-th with the one as far before it.
    """

    instance: str
    project: str
    branch: str
    commits: int
    every: int = 1


@dataclass(frozen=True, slots=True)
class BackfillLink:
    """Two commits of a branch to measure together; ``commits`` of them lead from base to patch."""

    base: BranchCommit
    patch: BranchCommit
    commits: int

    @property
    def ends(self) -> tuple[str, str]:
        """The IDs of both commits, the base first."""
        return self.base.revision, self.patch.revision


@dataclass(frozen=True, slots=True)
class LinkTries:
    """Runs that measured a link, or tried to; ``failed`` counts those that no other build ended."""

    tries: int
    failed: int
    is_measured: bool

    @property
    def is_over(self) -> bool:
        """Return whether there is no further try."""
        return self.is_measured or self.is_lost

    @property
    def is_lost(self) -> bool:
        """Return whether it stays a gap."""
        enough = self.failed >= _MOST_FAILURES or self.tries >= _MOST_TRIES
        return enough and not self.is_measured


def backfill_links(
    backfill: Backfill,
    line: Sequence[BranchCommit],
    measured: Collection[str],
    known: Collection[tuple[str, str]],
) -> tuple[BackfillLink, ...]:
    """Return all links of a backfill, the newest first, also those that are measured.

    Args:
        backfill: what somebody asked for.
        line: the first parents of the branch's head, the newest first.
        measured: the IDs of those that were measured against their parent after their merge.
        known: the links of the branch that have runs, by the IDs of their commits, the base first.
    """
    ends = {end for link in known for end in link}
    asked = range(0, min(backfill.commits, len(line) - 1) + 1, backfill.every)
    last = asked[-1] if asked else 0
    points = [
        place
        for place, each in enumerate(line[: last + 1])
        if place in asked
        or each.revision in measured
        or each.revision in ends
        or (place and line[place - 1].revision in measured)
    ]
    return tuple(
        BackfillLink(line[older], line[newer], older - newer)
        for newer, older in pairwise(points)
        if line[newer].revision not in measured
    )


def links_to_measure(
    links: Sequence[BackfillLink], tries: Mapping[tuple[str, str], LinkTries]
) -> tuple[BackfillLink, ...]:
    """Return the links that are still to be measured; those that cannot be built are left out."""
    return tuple(each for each in links if each.ends not in tries or not tries[each.ends].is_over)
