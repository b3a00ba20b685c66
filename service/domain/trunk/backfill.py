"""Choose which commits of a branch are measured in pairs though they were merged long ago."""

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
    """A request to measure each of the last ``commits`` commits of a branch against its first parent."""

    instance: str
    project: str
    branch: str
    commits: int


@dataclass(frozen=True, slots=True)
class BackfillLink:
    """A commit of a branch to measure against its first parent."""

    base: BranchCommit
    patch: BranchCommit

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
    backfill: Backfill, line: Sequence[BranchCommit], measured: Collection[str]
) -> tuple[BackfillLink, ...]:
    """Return all links of a backfill, the newest first, also those that are measured.

    Args:
        backfill: what somebody asked for.
        line: the first parents of the branch's head, the newest first.
        measured: the IDs of those that were measured against their parent after their merge.
    """
    return tuple(
        BackfillLink(base, patch)
        for patch, base in pairwise(line[: backfill.commits + 1])
        if patch.revision not in measured
    )


def links_to_measure(
    links: Sequence[BackfillLink], tries: Mapping[tuple[str, str], LinkTries]
) -> tuple[BackfillLink, ...]:
    """Return the links that are still to be measured; those that cannot be built are left out."""
    return tuple(each for each in links if each.ends not in tries or not tries[each.ends].is_over)


def first_run_with(revision: str, runs: Mapping[str, int], children: Mapping[str, str]) -> int | None:
    """Return the first run after the merge whose commit has an older commit; None: no run yet.

    Args:
        revision: the older commit.
        runs: the first run of each commit that has one.
        children: the commit after each one whose first parent is known.
    """
    commit: str | None = revision
    for _ in range(len(children) + 1):  # no history has circles
        if commit is None or commit in runs:
            break
        commit = children.get(commit)
    return None if commit is None else runs.get(commit)
