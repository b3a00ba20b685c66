"""Compose inline comments from the findings of jobs."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from service.domain.building.findings import MOST
from service.domain.review.change import InlineComment
from service.domain.values.text import literal, plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from service.domain.building.findings import Finding

_ERRORS: Final = ("error", "fatal error")  # of compilers; linters warn
_MOST_ON_CHANGE: Final = 100  # over all its patch sets and runs


def comments_to_post(
    named: Iterable[tuple[str, Finding]], jobs: Collection[str], posted: Collection[tuple[str, str]]
) -> tuple[InlineComment, ...]:
    """Compose the comments to post, at most :data:`MOST`; each begins with the job's name.

    A change gets at most a hundred in all. If several jobs report the same finding, the first one's is
    posted; so is a compile error, which each compiler words in its own way, if they report one on a line.

    Args:
        named: findings with the names of their jobs.
        jobs: all jobs of the run.
        posted: path and text of earlier comments. A finding that any of the jobs reported on the same path
            is not repeated, even if its line has moved.
    """
    first: dict[Finding, str] = {}
    not_compiling: dict[tuple[str, int], str] = {}
    for job, finding in named:
        is_error = finding.text.startswith(_ERRORS)
        if not is_error or not_compiling.setdefault((finding.path, finding.line), job) == job:
            first.setdefault(finding, job)
    comments = (
        InlineComment(finding.path, finding.line, _text(job, finding))
        for finding, job in first.items()
        if not any((finding.path, _text(each, finding)) in posted for each in jobs)
    )
    return tuple(islice(comments, max(0, min(MOST, _MOST_ON_CHANGE - len(posted)))))


def _text(job: str, finding: Finding) -> str:
    return f"{plain(job)}: {literal(finding.text)}"
