"""Route the pages of known failures: the lists, the page of each, and the form of a new pattern."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse  # noqa: TC002 - FastAPI reads the annotation

from dashboards.addresses import Search  # noqa: TC001 - FastAPI reads the annotation
from dashboards.rendering import NO_URLS, Pages
from service.domain.failures.evidence import UNSEEN, Rate, is_proposed_for_closing
from service.domain.values.errors import BadInput
from service.domain.values.search import parse_words
from service.domain.values.text import plain
from service.ports.failures.reading import KnownStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.ports.failures.reading import FailureReading, KnownDetail, KnownRow
    from service.steps.runs.check_health import HealthCheck

    FormOf = Callable[[Request, KnownDetail], object]
    from collections.abc import Sequence

    from service.ports.failures.reading import DayRow

DAYS: Final = 30
WIDTH, HEIGHT = 600.0, 120.0
_GAP: Final = 3.0
_LEAST: Final = 2.0  # a day with builds and without the failure is still seen


@dataclass(frozen=True, slots=True)
class Bar:
    """One day: its place in the drawing, and the text that describes it."""

    x: float
    y: float
    width: float
    height: float
    text: str
    has_failed: bool


def bars_of(days: Sequence[DayRow], today: date) -> tuple[Bar, ...]:
    """Lay out the bars of the last 30 days; a day without builds has none. A full bar is 100 %."""
    by_day = {each.day: each for each in days}
    step = WIDTH / DAYS
    bars = []
    for place in range(DAYS):
        row = by_day.get(today - timedelta(days=DAYS - 1 - place))
        if row is None or not row.builds:
            continue
        height = max(_LEAST, HEIGHT * row.failed / row.builds)
        words = f"{row.day:%d %b}: {row.failed} of {row.builds} builds"
        bars.append(Bar(step * place, HEIGHT - height, step - _GAP, height, words, bool(row.failed)))
    return tuple(bars)


class PatternForms(Protocol):
    """The form of a new pattern."""

    def may_begin(self, request: Request) -> bool:
        """Return whether the caller gets a link to the form."""

    def form_for(self, request: Request) -> object:
        """Return the form for the template."""


_PAGE: Final = 50
_TITLES: Final = {
    KnownStatus.PROPOSED: "Proposed",
    KnownStatus.ACTIVE: "Active",
    KnownStatus.EXPIRED: "Expired",
    KnownStatus.CLOSED: "Closed",
}


def create_failures(
    reading_of: Callable[[Request], FailureReading],
    health: HealthCheck,
    form_of: FormOf,
    patterns: PatternForms,
    review_urls: Mapping[str, str] = NO_URLS,
) -> APIRouter:
    """Create the routes of the pages.

    Args:
        reading_of: returns the known failures that the caller of a request may see.
        health: the check whose problems every page shows.
        form_of: returns the form that lets the caller change a known failure.
        patterns: makes the form of a new pattern.
        review_urls: the addresses of the Gerrits by instance.
    """
    pages = Pages(health, review_urls)
    router = APIRouter(include_in_schema=False)

    @router.get("/failures")
    def failures(
        request: Request,
        status: Annotated[str, Query(max_length=20)] = "",
        q: Search = "",
        before: Annotated[int | None, Query(ge=1, le=(1 << 63) - 1)] = None,
    ) -> HTMLResponse:
        values = _list_of(reading_of(request), _status(status) if status else None, q, before)
        return pages.render(request, "failures.html", may_add=patterns.may_begin(request), **values)

    # Before the route of one known failure, whose path it has.
    @router.get("/failures/new")
    def new_pattern(request: Request) -> HTMLResponse:
        return pages.render(request, "new_pattern.html", form=patterns.form_for(request))

    @router.get("/failures/{known_id}")
    def known_failure(
        request: Request, known_id: Annotated[int, Path(ge=1, le=(1 << 63) - 1)]
    ) -> HTMLResponse:
        detail = reading_of(request).known_failure(known_id)
        form = form_of(request, detail)
        instance = detail.row.instance
        return pages.render(request, "known_failure.html", instance=instance, form=form, **_facts_of(detail))

    return router


def _list_of(
    reading: FailureReading, asked: KnownStatus | None, q: str, before: int | None
) -> Mapping[str, Any]:
    """Return the values for the page of a list; without a chosen status, of the first list with a match."""
    words = parse_words(q)
    counts = reading.statuses(words)
    chosen = asked or next((each for each in KnownStatus if counts.get(each)), KnownStatus.PROPOSED)
    rows = reading.known_failures(chosen, _PAGE + 1, words, before)
    return {
        "rows": rows[:_PAGE],
        "has_more": len(rows) > _PAGE,
        "before": before,
        "q": q,
        "chosen": chosen,
        "asked": asked,
        "titles": _TITLES,
        "counts": counts,
        "interval_of": _interval,
        "is_to_close": _is_to_close,
    }


def _facts_of(detail: KnownDetail) -> Mapping[str, Any]:
    """Return the values for the page of a known failure."""
    return {
        "detail": detail,
        "row": detail.row,
        "title": _TITLES[detail.row.status],
        "bars": bars_of(detail.days, datetime.now(UTC).date()),
        "size": (WIDTH, HEIGHT),
        "rate": Rate(detail.row.failed, detail.row.builds),
        "first_seen": min((each.finished_at for each in detail.sightings), default=None),
        # A build after the submit has no change, and its run has its commit.
        "changes": len({each.change_address or each.run_id for each in detail.sightings}),
        "is_to_close": _is_to_close(detail.row),
    }


def _status(text: str) -> KnownStatus:
    try:
        return KnownStatus(text)
    except ValueError:
        raise BadInput(f"{plain(text, 30)!r} is not one of: {', '.join(KnownStatus)}", "status") from None


def _interval(row: KnownRow) -> tuple[float, float]:
    return Rate(row.failed, row.builds).interval


def _is_to_close(row: KnownRow) -> bool:
    """Return whether a known failure stopped occurring, by its rate until it was last seen."""
    if row.status is not KnownStatus.ACTIVE:
        return False
    if not row.kind and row.builds < UNSEEN:  # the few builds since a pattern was added tell no rate
        return False
    if row.is_unseen:  # its rate is not known any more
        return row.builds >= UNSEEN
    return is_proposed_for_closing(Rate(row.failed, row.builds - row.since), row.since)
