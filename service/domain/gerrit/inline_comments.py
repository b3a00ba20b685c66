"""Inline comments: the findings of jobs, on the lines of a change."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from service.domain.building.findings import MOST
from service.domain.gerrit.change import InlineComment
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from service.domain.building.findings import Finding

_MOST_ON_CHANGE: Final = 100  # whatever its patch sets and rounds are
_AFTER_JOB: Final = ": "  # no name of a job holds it


def remarks(
    named: Iterable[tuple[str, Finding]], said: Collection[tuple[str, str]]
) -> tuple[InlineComment, ...]:
    """What to write on lines of what jobs found, each remark beginning with its job.

    At most :data:`MOST` at once, and no more once a change has a hundred. What several jobs find alike, the
    first of them says.

    Args:
        named: jobs and what they found.
        said: path and text of what was written before. A line may have moved since, and another job be the
            first to find it; it is not told again.
    """
    first: dict[Finding, str] = {}
    for job, finding in named:
        first.setdefault(finding, job)
    known = {(path, remark.partition(_AFTER_JOB)[2]) for path, remark in said}
    told = (
        InlineComment(each.path, each.line, f"{plain(job)}{_AFTER_JOB}{each.text}")
        for each, job in first.items()
        if (each.path, each.text) not in known
    )
    return tuple(islice(told, max(0, min(MOST, _MOST_ON_CHANGE - len(said)))))
