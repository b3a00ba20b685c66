"""Choose the pairs of distant commits that are measured together, so that a long series keeps its level.

Each week's last commit is compared with that of the week before, each fourth week's with that of four weeks
before, and each release with the one before; the newest commit is compared with the last of each kind. So the
base programs are few and stay built, and a year has some seventy anchors, whatever is merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from service.domain.sources.commit import BranchCommit

LOOKED_AT: Final = 2000  # commits of a branch
BETWEEN: Final = 6 * 3600.0  # seconds between the anchors of a branch in a pool: each takes minutes
_MOST_TRIES: Final = 3
_WEEK: Final = 7
_MONDAY: Final = 1  # ordinal 1, the first day of the calendar, is one
_SPANS: Final = (_WEEK, 4 * _WEEK)  # days


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the branch: when it got there, in UTC, and whether it has the tag of a release."""

    moment: datetime
    is_release: bool = False


def anchors_of(commits: Sequence[Commit]) -> tuple[tuple[int, int], ...]:
    """Return the anchors of a branch, by positions of base and patch, the longest ones first.

    ``commits`` are in the branch's order, the oldest first. Neighbours are no anchors: their link is measured
    anyway. The newest commit has anchors like the last one of a week.
    """
    points = [[*_last_of(commits, days)] for days in reversed(_SPANS)]
    points.insert(0, [position for position, each in enumerate(commits) if each.is_release])
    found = dict.fromkeys(anchor for ends in points for anchor in _between(ends, len(commits)))
    return tuple(found)


def _last_of(commits: Sequence[Commit], days: int) -> Iterator[int]:
    """Yield the last commit of each span of days that has commits, except the current span."""
    spans = [(each.moment.toordinal() - _MONDAY) // days for each in commits]
    return (position for position, (one, after) in enumerate(pairwise(spans)) if one < after)


def _between(points: Iterable[int], count: int) -> Iterator[tuple[int, int]]:
    ends = dict.fromkeys((*points, count - 1))
    return ((base, patch) for base, patch in pairwise(ends) if patch > base + 1)


@dataclass(frozen=True, slots=True)
class AnchorTries:
    """Runs that measured an anchor. ``is_done``: one was neither cancelled nor pre-empted."""

    tries: int
    is_done: bool


def next_anchor(
    line: Sequence[BranchCommit],
    measured: Collection[str],
    known: Mapping[tuple[str, str], AnchorTries],
    since: float | None,
) -> tuple[str, str] | None:
    """Choose the anchor to measure next, by the IDs of its commits, the older one first; None: none is due.

    Args:
        line: the first parents of the branch's head, the newest first.
        measured: the IDs of those that have a run; others are in no trend.
        known: the anchors that have runs.
        since: seconds since the last anchor of the branch in the pool; None: there was none.
    """
    if since is not None and since < BETWEEN:
        return None
    commits = [each for each in reversed(line) if each.revision in measured]
    for base, patch in anchors_of([Commit(each.committed_at) for each in commits]):
        anchor = commits[base].revision, commits[patch].revision
        found = known.get(anchor)
        if found is None or not (found.is_done or found.tries >= _MOST_TRIES):
            return anchor
    return None
