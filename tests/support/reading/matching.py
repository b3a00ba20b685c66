"""Match changes in memory with a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.review.change_search import Operator

if TYPE_CHECKING:
    from service.domain.review.change_search import ChangeSearch, Term
    from service.ports.review.shown import Change


def matches(row: Change, search: ChangeSearch) -> bool:
    """Return whether a change matches all words and terms."""
    searched = f"{row.subject} {row.project} {row.branch} {row.owner} {row.number}"
    return search.words.matches(searched) and all(_has(row, each) is each.is_wanted for each in search.terms)


def _has(row: Change, term: Term) -> bool:
    match term.operator:
        case Operator.OWNER:
            return term.value in row.owner.lower()
        case Operator.PROJECT:
            return row.project.lower() == term.value
        case Operator.BRANCH:
            return row.branch.lower() == term.value
        case Operator.STATUS:
            return row.status == term.value
        case Operator.VOTE:
            return (row.vote or 0) == int(term.value)
        case Operator.WAITS:
            return row.standing.place is not None
        case Operator.MINE:
            return row.owner.lower() in term.value.split("\n")
