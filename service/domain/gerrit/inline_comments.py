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

_MOST_ON_CHANGE: Final = 100  # over all its patch sets and runs
_AFTER_JOB: Final = ": "  # no job name contains it


def remarks(
    named: Iterable[tuple[str, Finding]], posted: Collection[tuple[str, str]]
) -> tuple[InlineComment, ...]:
    """Compose inline comments from the findings of jobs; each comment begins with the job's name.

    Returns at most :data:`MOST` comments, and none if the change already has a hundred. If several jobs
    report the same finding, only the first gets a comment.

    Args:
        named: jobs with their findings.
        posted: path and text of earlier comments. A finding with the same path and text is not repeated,
            even if its line has moved or another job reports it first.
    """
    first: dict[Finding, str] = {}
    for job, finding in named:
        first.setdefault(finding, job)
    known = {(path, remark.partition(_AFTER_JOB)[2]) for path, remark in posted}
    comments = (
        InlineComment(finding.path, finding.line, f"{plain(job)}{_AFTER_JOB}{finding.text}")
        for finding, job in first.items()
        if (finding.path, finding.text) not in known
    )
    return tuple(islice(comments, max(0, min(MOST, _MOST_ON_CHANGE - len(posted)))))
