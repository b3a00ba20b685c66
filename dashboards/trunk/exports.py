"""Route what leaves the lists of regressions: a feed, and a file for a spreadsheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from dashboards.export import csv_response
from dashboards.trunk.feed import atom_feed
from service.domain.trunk.regression import RegressionList
from service.domain.values.errors import BadInput
from service.domain.values.search import EVERYTHING, parse_words
from service.domain.values.text import plain
from service.domain.wording.regressions import SAID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dashboards.export import Row
    from service.domain.review.links import Links
    from service.domain.values.search import Words
    from service.ports.trunk import Regression, RegressionReading

_IN_FEED: Final = 50
_BATCH: Final = 1000  # regressions that one query reads
_COLUMNS: Final = (
    *("id", "found at", "project", "branch", "commit", "change", "subject", "author", "benchmark", "metric"),
    *("ratio", "low", "high", "slower results", "the gate had said", "state", "assignee", "bug", "note"),
)


def add_exports(router: APIRouter, reading_of: Callable[[Request], RegressionReading], links: Links) -> None:
    """Add the feed of what needs somebody, and each list as CSV."""

    @router.get("/regressions.atom")
    def feed(request: Request) -> Response:
        reading = reading_of(request)
        lists = (RegressionList.NEW, RegressionList.OPEN)
        found = [each for of in lists for each in reading.regressions(of, EVERYTHING, _IN_FEED)]
        newest = sorted(found, key=lambda each: each.id, reverse=True)[:_IN_FEED]
        return Response(atom_feed(newest, links), media_type="application/atom+xml")

    @router.get("/regressions.csv")
    def as_csv(
        request: Request,
        of: Annotated[str, Query(alias="list", max_length=20)] = "",
        q: Annotated[str, Query(max_length=200)] = "",
    ) -> Response:
        chosen = list_named(of) if of else None
        found = _all(reading_of(request), chosen, parse_words(q))
        return csv_response("regressions", _COLUMNS, map(_row, found))


def list_named(text: str) -> RegressionList:
    """Return the list of that name; raises BadInput."""
    try:
        return RegressionList(text)
    except ValueError:
        raise BadInput(f"{plain(text, 30)!r} is not one of: {', '.join(RegressionList)}", "list") from None


def _all(reading: RegressionReading, of: RegressionList | None, words: Words) -> Iterator[Regression]:
    """Read a whole list, newest first, a batch at a time."""
    batch = reading.regressions(of, words, _BATCH)
    yield from batch
    while len(batch) == _BATCH:
        batch = reading.regressions(of, words, _BATCH, batch[-1].id)
        yield from batch


def _row(each: Regression) -> Row:
    worst = each.worst
    culprit = f"{each.parent}..{each.revision}" if each.is_range else each.revision
    commit = (each.project, each.branch, culprit, each.change_address, each.subject, each.author)
    size = (worst.benchmark, worst.metric, worst.ratio, worst.low, worst.high, each.results)
    judged = (SAID[worst.gate_said], each.state, each.assignee, each.bug, each.note)
    return (each.id, each.found_at.isoformat(), *commit, *size, *judged)
