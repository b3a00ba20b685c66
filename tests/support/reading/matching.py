"""Match changes in memory with a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.review.change_search import Operator
from service.domain.runs.states import BuildState

if TYPE_CHECKING:
    from service.domain.review.change_search import ChangeSearch, Term
    from service.ports.review.shown import PatchSetDetail


def matches(detail: PatchSetDetail, search: ChangeSearch) -> bool:
    """Return whether a change with this newest patch set matches all words and terms."""
    row = detail.change
    searched = f"{row.subject} {row.project} {row.branch} {row.owner} {row.number}"
    return search.words.matches(searched) and all(
        _has(detail, each) is each.is_wanted for each in search.terms
    )


def _has(detail: PatchSetDetail, term: Term) -> bool:
    row, values = detail.change, term.values
    found = {
        Operator.OWNER: any(each in row.owner.lower() for each in values),
        Operator.PROJECT: row.project.lower() in values,
        Operator.BRANCH: row.branch.lower() in values,
        Operator.STATUS: row.status in values,
        Operator.VOTE: str(row.vote or 0) in values,
        Operator.WAITS: any(each.state is BuildState.QUEUED for each in detail.builds),
        Operator.MINE: row.owner.lower() in values,
    }
    return found[term.operator]
