"""Put the commits of a branch in line by their first parents, and level them.

Each merged commit was measured in pairs against its first parent, on one machine and by one compiler. The sum
of these steps has no drift of the machine, and a new machine or compiler does not break it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from service.domain.verdict.inference.verdict import Verdict
    from service.domain.verdict.trend.levels import Link

_SURE: Final = 1.96  # standard errors, for 95 %


@dataclass(frozen=True, slots=True)
class Step:
    """A commit against its first parent: ``log`` is ln(commit ÷ parent), with its standard error.

    Both are None if that was not measured, and 0 if it cannot have changed. ``moment`` is when the commit
    came to the branch, as far as Benchgate knows. ``verdict`` and ``run_id`` are None where only levels are
    wanted.
    """

    revision: str
    parent: str
    moment: datetime
    log: float | None = None
    error: float | None = None
    pairs: int = 0
    verdict: Verdict | None = None
    run_id: int | None = None


@dataclass(frozen=True, slots=True)
class CommitLevel:
    """Distance of a commit from the commit ``since``: ln(commit ÷ since) and its standard error.

    ``offset`` is where ``since`` is drawn: 0 for the chosen commit. Behind a gap nobody knows how far that
    is, so the line goes on where it stopped, and ``since`` is the first commit behind the gap.
    """

    log: float
    error: float
    since: str
    offset: float = 0.0

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval (log scale)."""
        return self.log - _SURE * self.error

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval (log scale)."""
        return self.log + _SURE * self.error


@dataclass(frozen=True, slots=True)
class LevelledLine:
    """The commits of a branch in their order, the oldest first, and the levels of all of them.

    ``set_back`` are the last of them, which the branch has no more.
    """

    commits: tuple[str, ...]
    levels: Mapping[str, CommitLevel]
    set_back: int = 0

    @property
    def followed(self) -> tuple[str, ...]:
        """The commits that the branch has, the oldest first."""
        return self.commits[: len(self.commits) - self.set_back]


def level_line(steps: Iterable[Step], since: str = "", anchors: Iterable[Step] = ()) -> LevelledLine:
    """Level the commits of a branch relative to ``since``; empty or unknown: the oldest.

    Of several steps of one commit all count. ``anchors`` compare commits that are not neighbours, with the
    older one as parent; those of commits without steps are left out. Takes O(n log n) for n steps, and
    O(n a²) with a anchors.
    """
    from service.domain.verdict.trend.levels import (  # noqa: PLC0415 - loads SciPy
        Link,
        joined_parts,
        level,
        pool_errors,
    )

    known = [*steps]
    line = followed(known)
    set_back = _set_back(known, {*line})
    commits = line + set_back
    position = {commit: number for number, commit in enumerate(commits)}
    links = pool_errors(
        Link(position[each.parent], position[each.revision], each.log, each.error, each.pairs)
        for each in (*known, *anchors)
        if each.log is not None
        and each.error is not None
        and position.get(each.parent, len(position)) < position.get(each.revision, -1)
    )
    levels: dict[str, CommitLevel] = {}
    for part, between in _parts(joined_parts(len(commits), links)[0], links):
        own = {place: number for number, place in enumerate(part)}
        first = position[since] if position.get(since) in own else part[0]
        inner = between
        if len(part) < len(commits):  # otherwise the positions stay
            inner = [
                Link(own[each.base], own[each.patch], each.log, each.error, each.pairs) for each in between
            ]
        found = level(len(part), inner, own[first])
        for place, reached in zip(part, found.levels, strict=True):
            if reached is not None:  # always: links join the whole part
                levels[commits[place]] = CommitLevel(reached.log, reached.error, commits[first])
    return LevelledLine(commits, _joined(commits, levels, since), len(set_back))


def join_unchanged(unchanged: Iterable[Step], kept: Collection[str]) -> Iterator[Step]:
    """Join runs of steps in which nothing changed, each into one step with the moment of its first commit.

    The commits ``kept``, and those where runs meet or part, stay and keep their levels. Runs that lead to
    none of them are left out.
    """
    steps = {(each.parent, each.revision): each for each in unchanged}.values()
    parents = Counter(each.revision for each in steps)
    children = Counter(each.parent for each in steps)
    after = {each.parent: each.revision for each in steps}

    def is_inner(commit: str) -> bool:
        return commit not in kept and parents[commit] == children[commit] == 1

    def is_loose(commit: str) -> bool:
        return commit not in kept and parents[commit] + children[commit] == 1

    for each in steps:
        if not is_inner(each.parent):
            last = each.revision
            while is_inner(last):
                last = after[last]
            if not (is_loose(each.parent) and is_loose(last)):
                yield each if last == each.revision else replace(each, revision=last)


def followed(steps: Sequence[Step]) -> tuple[str, ...]:
    """Follow the first parents to the tip of the branch, without commits that were set back.

    Parts that nothing joins come in the order of their first moments.
    """
    moments: dict[str, datetime] = {}
    for each in steps:
        moments[each.revision] = min(each.moment, moments.get(each.revision, each.moment))
    after: dict[str, str] = {}
    for each in sorted(steps, key=lambda each: moments[each.revision]):
        after[each.parent] = each.revision  # a branch that was set back goes on with the later commit
    made = {each.revision for each in steps}
    starts = sorted(
        (each for each in after.items() if each[0] not in made), key=lambda each: moments[each[1]]
    )
    line: dict[str, None] = {}
    for start, _ in starts:
        commit: str | None = start
        while commit is not None and commit not in line:
            line[commit] = None
            commit = after.get(commit)
    return tuple(line)


def _set_back(steps: Sequence[Step], line: Collection[str]) -> tuple[str, ...]:
    """Return the commits that the followed line lacks: they were set back, or are a circle."""
    names = (name for each in steps for name in (each.parent, each.revision))
    return tuple(dict.fromkeys(name for name in names if name not in line))


def _parts(of: Sequence[int], links: Sequence[Link]) -> Iterator[tuple[list[int], list[Link]]]:
    """Yield the positions of each part in order, with its links; ``of`` is the part of each position."""
    parts: dict[int, tuple[list[int], list[Link]]] = {}
    for place, part in enumerate(of):
        parts.setdefault(part, ([], []))[0].append(place)
    for each in links:
        parts[of[each.base]][1].append(each)
    yield from parts.values()


def _joined(commits: Sequence[str], levels: Mapping[str, CommitLevel], since: str) -> dict[str, CommitLevel]:
    """Let each part begin where the one before it ends, and the chosen commit be at 0."""
    offsets: dict[str, float] = {}
    last = 0.0
    for commit in commits:
        found = levels[commit]
        if found.since not in offsets:
            offsets[found.since] = last - found.log
        last = offsets[found.since] + found.log
    zero = offsets.get(levels[since].since, 0.0) if since in levels else next(iter(offsets.values()), 0.0)
    return {
        commit: CommitLevel(each.log, each.error, each.since, offset) if offset else each
        for commit, each in levels.items()
        for offset in (offsets[each.since] - zero,)
    }
