"""Choose the pairs of distant commits that are measured together, so that a long series keeps its level.

Each week's last commit is compared with that of the week before, each fourth week's with that of four weeks
before, and each release with the one before. Once a week, the newest commit is compared with the last of each
kind. So the base programs are few and stay built, and a year has fewer than two hundred anchors, whatever is
merged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from service.domain.sources.commit import BranchCommit

LOOKED_AT: Final = 2000  # commits of a branch
BETWEEN: Final = 6 * 3600.0  # seconds between the anchors of a branch in a pool: each takes minutes
_MOST_TRIES: Final = 5
_WEEK: Final = 7
_MONDAY: Final = 1  # ordinal 1, the first day of the calendar, is one
_SPANS: Final = (_WEEK, 4 * _WEEK)  # days


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the branch: when it got there, in UTC, and whether it has the tag of a release."""

    moment: datetime
    is_release: bool = False


@dataclass(frozen=True, slots=True)
class Anchors:
    """Pairs of positions on a branch, base before patch; ``newest`` end at the newest commit."""

    fixed: tuple[tuple[int, int], ...]
    newest: tuple[tuple[int, int], ...]


def anchors_of(commits: Sequence[Commit]) -> Anchors:
    """Return the anchors of a branch, the longest distances first.

    ``commits`` are in the branch's order, the oldest first. Neighbours are no anchors: their link is measured
    anyway. A commit that is older than the one before it counts as made with that one.
    """
    moments = accumulate((each.moment for each in commits), max)
    commits = [replace(each, moment=moment) for each, moment in zip(commits, moments, strict=True)]
    points = [[*_last_of(commits, days)] for days in reversed(_SPANS)]
    points.insert(0, [position for position, each in enumerate(commits) if each.is_release])
    fixed = dict.fromkeys(pair for ends in points for pair in pairwise(ends) if pair[1] > pair[0] + 1)
    head = len(commits) - 1
    newest = dict.fromkeys((ends[-1], head) for ends in points if ends and head > ends[-1] + 1)
    return Anchors(tuple(fixed), tuple(each for each in newest if each not in fixed))


def week_of(moment: datetime) -> int:
    """Number the weeks, which begin on Monday."""
    return (moment.toordinal() - _MONDAY) // _WEEK


def _last_of(commits: Sequence[Commit], days: int) -> Iterator[int]:
    """Yield the last commit of each span of days that has commits, except the current span."""
    spans = [(each.moment.toordinal() - _MONDAY) // days for each in commits]
    return (position for position, (one, after) in enumerate(pairwise(spans)) if one < after)


@dataclass(frozen=True, slots=True)
class AnchorTries:
    """Runs that measured an anchor, or tried to. ``is_done``: one was neither pre-empted nor lost."""

    tries: int
    is_done: bool

    @property
    def is_over(self) -> bool:
        """Return whether there is no further try."""
        return self.is_done or self.tries >= _MOST_TRIES


def next_anchor(
    line: Sequence[BranchCommit],
    measured: Collection[str],
    known: Mapping[tuple[str, str], AnchorTries],
    now: datetime,
) -> tuple[str, str] | None:
    """Choose the anchor to measure next, by the IDs of its commits, the older one first; None: none is due.

    Args:
        line: the first parents of the branch's head, the newest first.
        measured: the IDs of those that have a run; others are in no trend.
        known: the anchors that have runs.
        now: no commit is younger.
    """
    commits = [each for each in reversed(line) if each.revision in measured]
    moments = [*accumulate((min(each.committed_at, now) for each in commits), max)]
    weeks = {each.revision: week_of(moment) for each, moment in zip(commits, moments, strict=True)}
    over = {anchor for anchor, tries in known.items() if tries.is_over}
    found = anchors_of([Commit(each) for each in moments])
    for place in found.fixed:
        if (anchor := _at(commits, place)) not in over:
            return anchor
    for place in found.newest:
        base, head = anchor = _at(commits, place)
        if not any(of == base and weeks.get(patch) == weeks[head] for of, patch in over):
            return anchor
    return None


def _at(commits: Sequence[BranchCommit], place: tuple[int, int]) -> tuple[str, str]:
    base, patch = place
    return commits[base].revision, commits[patch].revision
