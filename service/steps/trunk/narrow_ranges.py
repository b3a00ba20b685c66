"""Narrow listed ranges of commits down to the one that most of the slow-down came with, in idle pools.

The range's page says so, and nothing else changes: comparisons without relinked programs blame no commit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from service.domain.trunk.anchors import LOOKED_AT
from service.domain.trunk.narrowing import SECONDS_A_DAY, narrow
from service.domain.values.identity import RunKind
from service.domain.values.text import plain
from service.domain.verdict.trend.levels import Link
from service.steps.runs.new_run import run_of_pool, start_run
from service.steps.trunk.idle_branches import start_in_pools

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from service.domain.sources.commit import BranchCommit
    from service.domain.trunk.narrowing import Narrowing
    from service.domain.verdict.calibration.schedule import BranchKey
    from service.ports.sources import Source
    from service.ports.store import Store, Transaction
    from service.ports.trunk import OpenRange

_MAX_TEXT: Final = 500
_REQUESTED_BY: Final = "Benchgate"  # so that no version takes the run for an anchor


def narrow_ranges(
    store: Store, source_of: Callable[[str], Source], keys: Iterable[BranchKey]
) -> Collection[str]:
    """Measure the next two commits of a range in each idle pool; return the pools that got a pair.

    Raises:
        Transient: a branch could not be fetched; all other branches were looked at.
    """

    def start(key: BranchKey) -> bool:
        with store.transaction() as tx:
            ranges = tx.regressions.open_ranges(key)
        return bool(ranges) and _narrow(store, source_of(key.instance), key, ranges)

    return start_in_pools(keys, start)


def _narrow(store: Store, source: Source, key: BranchKey, ranges: Sequence[OpenRange]) -> bool:
    source.fetch(key.project, f"refs/heads/{key.branch}")
    line = [*reversed(source.line(key.project, key.branch, LOOKED_AT))]
    for each in ranges:
        commits = _commits_of(each, line)
        found = _found(each, commits)
        if found is None:
            continue
        with store.transaction() as tx:
            if found.then is None:
                _store(tx, each, found, commits)
            elif each.spent < SECONDS_A_DAY and _start(tx, key, each, commits, found.then):
                return True
    return False


def _commits_of(found: OpenRange, line: Sequence[BranchCommit]) -> Sequence[BranchCommit]:
    """Return the commits of a range, that before it first; none if the branch was set back."""
    place = {each.revision: number for number, each in enumerate(line)}
    begin, end = (place.get(name, -1) for name in (found.base, found.patch))
    return line[begin : end + 1] if 0 <= begin < end else ()


def _found(found: OpenRange, commits: Sequence[BranchCommit]) -> Narrowing | None:
    """Return what the links say; None if they cannot: the link over the whole range is missing.

    An earlier version measured it, other builds end it each time, or the branch was set back.
    """
    place = {each.revision: number for number, each in enumerate(commits)}
    known = [each for each in found.links if each.base in place and each.patch in place]
    links = [
        Link(place[each.base], place[each.patch], each.worsening, each.error, each.pairs)
        for each in known
        if each.worsening is not None
    ]
    lost = {(place[each.base], place[each.patch]) for each in known if each.worsening is None}
    count = len(commits) - 1
    if not any((each.base, each.patch) == (0, count) for each in links):
        return None
    return narrow(count, links, lost)


def _store(tx: Transaction, stored: OpenRange, found: Narrowing, commits: Sequence[BranchCommit]) -> None:
    ends = (commits[found.begin].revision, commits[found.end].revision)
    run_id = next(each.run_id for each in stored.links if (each.base, each.patch) == ends)
    is_narrower = found.is_one_step and run_id != stored.run_id
    known = (run_id, found.commits) if is_narrower else (None, 0)
    tx.regressions.narrow(stored.regression_id, stored.series_id, *known)


def _start(
    tx: Transaction, key: BranchKey, found: OpenRange, commits: Sequence[BranchCommit], pair: tuple[int, int]
) -> bool:
    if tx.branches.is_measuring(key.pool):
        return False
    base, patch = (commits[place] for place in pair)
    subject = plain(patch.subject, _MAX_TEXT)
    run = replace(
        run_of_pool(RunKind.ANCHOR, key, patch.revision, subject, parent=base.revision),
        author=plain(patch.author, _MAX_TEXT),
        previous_id=found.run_id,
        requested_by=_REQUESTED_BY,
    )
    return start_run(tx.runs, tx.outbox, run)
