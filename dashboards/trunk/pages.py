"""Route the pages of regressions: the lists with the ledger, and the page of each."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse  # noqa: TC002 - FastAPI reads the annotation

from dashboards.rendering import NO_URLS, Pages
from dashboards.trunk.exports import add_exports, list_named
from service.domain.trunk.regression import RegressionList
from service.domain.values.search import parse_words
from service.domain.wording.regressions import SAID
from service.ports.trunk import LEDGER_DAYS
from service.steps.trunk.find_explanation import find_explanation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.review.links import Links
    from service.ports.reading import BuildReading
    from service.ports.trunk import RegressionReading
    from service.steps.runs.check_health import HealthCheck

    FormOf = Callable[[Request, int | None], object]

_PAGE: Final = 50
TITLES: Final[Mapping[RegressionList, str]] = MappingProxyType(
    {
        RegressionList.NEW: "New",
        RegressionList.OPEN: "Open",
        RegressionList.SUSPECTED: "Suspected",
        RegressionList.SMALL: "Small",
        RegressionList.CLOSED: "Closed",
    }
)
HINTS: Final[Mapping[RegressionList, str]] = MappingProxyType(
    {
        RegressionList.NEW: "Each of these is slower than the commit before it, measured in pairs.",
        RegressionList.OPEN: "Confirmed by a person, and not fixed yet.",
        RegressionList.SUSPECTED: "Slower, but these benchmarks do not vote yet: they may just be noisy.",
        RegressionList.SMALL: "Slower by less than the limit of their job (vote_at).",
        RegressionList.CLOSED: "Accepted, fixed, caused by a machine, or invalid.",
    }
)


def create_regressions(
    reading_of: Callable[[Request], RegressionReading],
    builds_of: Callable[[Request], BuildReading],
    health: HealthCheck,
    form_of: FormOf,
    links: Links,
    review_urls: Mapping[str, str] = NO_URLS,
) -> APIRouter:
    """Create the routes of the pages.

    Args:
        reading_of: returns the regressions that the caller of a request may see.
        builds_of: returns the builds that the caller may see.
        health: the check whose problems every page shows.
        form_of: returns the form that lets the caller judge a regression, or those of a list.
        links: to the pages, for the feed.
        review_urls: the addresses of the Gerrits by instance.
    """
    pages = Pages(health, review_urls)
    router = APIRouter(include_in_schema=False)
    add_exports(router, reading_of, links)

    @router.get("/regressions")
    def regressions(
        request: Request,
        of: Annotated[str, Query(alias="list", max_length=20)] = "",
        q: Annotated[str, Query(max_length=200)] = "",
        before: Annotated[int | None, Query(ge=1, le=(1 << 63) - 1)] = None,
    ) -> HTMLResponse:
        values = _list_of(reading_of(request), list_named(of) if of else None, q, before)
        return pages.render(request, "regressions.html", form=form_of(request, None), **values)

    @router.get("/regressions/{regression_id}")
    def regression(
        request: Request, regression_id: Annotated[int, Path(ge=1, le=(1 << 63) - 1)]
    ) -> HTMLResponse:
        detail, builds = reading_of(request).regression(regression_id), builds_of(request)
        part = detail.narrowed
        return pages.render(
            request,
            "regression.html",
            instance=detail.regression.instance,
            detail=detail,
            row=detail.regression,
            title=TITLES[detail.regression.list],
            said=SAID,
            is_regained=detail.is_made_up,
            why=find_explanation(builds, detail.regression.worst),
            part=part,
            why_part=find_explanation(builds, part) if part and part.job else None,
            form=form_of(request, regression_id),
        )

    return router


def _list_of(
    reading: RegressionReading, asked: RegressionList | None, q: str, before: int | None
) -> Mapping[str, Any]:
    """Return the values for the page of a list; without a chosen one, of the first list that has rows."""
    counts = reading.counts()
    chosen = asked or next((each for each in TITLES if counts.get(each)), RegressionList.NEW)
    rows = reading.regressions(chosen, parse_words(q), _PAGE + 1, before)
    return {
        "rows": rows[:_PAGE],
        "has_more": len(rows) > _PAGE,
        "before": before,
        "chosen": chosen,
        "q": q,
        "counts": counts,
        "titles": TITLES,
        "hint": HINTS[chosen],
        "ledger": reading.ledger(),
        "days": LEDGER_DAYS,
        "said": SAID,
    }
