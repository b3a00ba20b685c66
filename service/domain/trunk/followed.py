"""Choose which commits of a followed branch are measured though no change brought them.

A push without a review and a merge of branches have no change. Each would leave a gap in the trends.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from service.domain.sources.commit import BranchCommit

LOOKED_AT: Final = 200  # commits of a branch
MOST: Final = 20  # unfinished runs of a branch: each may take minutes of machine time
_WAIT: Final = timedelta(minutes=10)  # the review server may still report it as the merge of a change
_LATEST: Final = timedelta(days=7)


def commits_to_measure(
    line: Sequence[BranchCommit], measured: Collection[str], now: datetime
) -> tuple[BranchCommit, ...]:
    """Return the commits after the first measured one that have no run, oldest first.

    Of a branch without a measured commit, only the head is returned. Commits of the last minutes and commits
    older than a week are left out.

    Args:
        line: the first parents of the head, the newest first.
        measured: the IDs of those that have a run.
        now: by the review server's clock.
    """
    first = max((place for place, each in enumerate(line) if each.revision in measured), default=1)
    missing = [
        each
        for each in line[:first]
        if each.revision not in measured and now - _LATEST < each.committed_at <= now - _WAIT
    ]
    return tuple(reversed(missing))
