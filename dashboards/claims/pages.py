"""Route the page of recent claims, and write claims and answers for all pages."""

from __future__ import annotations

from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from fastapi import Request  # noqa: TC002 - FastAPI reads the annotation
from fastapi.responses import HTMLResponse  # noqa: TC002 - FastAPI reads the annotation

from dashboards.formatting import NOTHING
from service.domain.claims.answers import Answer
from service.domain.claims.facts import answers_by_benchmark, answers_that_count
from service.domain.measuring.formats.row import TIMES
from service.domain.measuring.metric import metric_named
from service.domain.values.text import before_and_after, change
from service.domain.wording.claims import claims_sentence, differ
from service.domain.wording.reasons import SAME_PROGRAM

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fastapi import APIRouter

    from dashboards.rendering import Pages
    from service.domain.claims.answers import AnsweredClaim
    from service.ports.reading import Reading

_DAYS: Final = 90
_MOST: Final = 100


class Legend(NamedTuple):
    """Sign, colours and meaning of an answer, never colours alone; docs/user/claims.md has meanings, too."""

    sign: str
    tone: str
    meaning: str


LEGENDS: Final[Mapping[Answer, Legend]] = MappingProxyType(
    {
        Answer.CONFIRMED: Legend("✓", "good", "the interval lies between half and twice the claimed change"),
        Answer.SMALLER: Legend("<", "busy", "surely less than 80 % of the claimed change"),
        Answer.LARGER: Legend(">", "busy", "surely more than 125 % of the claimed change"),
        Answer.NOT_REPRODUCED: Legend("✕", "bad", "surely less than a quarter of the claimed change"),
        Answer.OPPOSITE: Legend("⇄", "bad", "surely the opposite change, beyond what the job calls the same"),
        Answer.TOO_NOISY: Legend("?", "quiet", "the interval is too wide for any of these"),
        Answer.NOT_MEASURABLE: Legend("–", "quiet", "nothing measured answers it, for the given reason"),
    }
)


def add_claims(router: APIRouter, reading_of: Callable[[Request], Reading], pages: Pages) -> None:
    """Add the page that shows how the claims of the last months held."""

    @router.get("/claims")
    def claims(request: Request) -> HTMLResponse:
        reading = reading_of(request)
        since = reading.condition().now - timedelta(days=_DAYS)
        runs = reading.recent_claims(since, _MOST + 1)
        has_more = len(runs) > _MOST
        return pages.render(request, "claims.html", runs=runs[:_MOST], days=_DAYS, has_more=has_more)


def claimed_change(claim: AnsweredClaim) -> str:
    """Write the claimed ratio as a change, or a dash without one."""
    return change(claim.claimed) if claim.claimed else NOTHING


def without_ratio(claim: AnsweredClaim) -> str:
    """Write what stands in the place of a measured change."""
    return NOTHING if claim.obstacle else SAME_PROGRAM


def claimed_values(claim: AnsweredClaim) -> str:
    """Write both claimed values in the unit that the message prints."""
    unit = claim.unit if claim.metric in TIMES else metric_named(claim.metric).unit
    return before_and_after(claim.before, claim.after, unit)


CLAIM_FILTERS: Final[Mapping[str, Callable[..., object]]] = MappingProxyType(
    {
        each.__name__: each
        for each in (
            answers_by_benchmark,
            answers_that_count,
            claims_sentence,
            claimed_change,
            claimed_values,
            without_ratio,
            differ,
        )
    }
)
"""Filters of the templates."""
