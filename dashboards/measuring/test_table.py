"""Lay out the table of a build's test cases: failed first, then retried, then the slowest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fastapi import Request  # noqa: TC002 - FastAPI reads the annotations
from fastapi.responses import Response

from dashboards.addresses import JobName, Number  # noqa: TC001 - FastAPI reads the annotations
from service.domain.measuring.tests.cases import CaseStatus
from service.domain.measuring.tests.record import RECORD_BYTES, read_tests
from service.domain.values.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fastapi import APIRouter

    from service.domain.building.logs.stored_log import Stream
    from service.domain.measuring.tests.cases import TestCase
    from service.domain.measuring.tests.record import TestSuite
    from service.domain.values.search import Words
    from service.ports.reading import BuildReading


def add_tests(router: APIRouter, reading_of: Callable[[Request], BuildReading], stream: Stream) -> None:
    """Add the record of all test cases of a build."""

    @router.get("/job/{job}/{number}/tests.json")
    def tests(request: Request, job: JobName, number: Number) -> Response:
        key = reading_of(request).build(job, number).tests
        if not key:
            raise NotFound(f"the build {job}/{number} has no tests")
        return Response(_bytes_of(stream, key), 200, {"Cache-Control": "no-cache"}, "application/json")


def tests_of(stream: Stream, key: str) -> Sequence[TestSuite]:
    """Read the test cases of a build; return none if their record is empty or no longer stored."""
    try:
        return read_tests(_bytes_of(stream, key)) if key else ()
    except NotFound:
        return ()


def _bytes_of(stream: Stream, key: str) -> bytes:
    data = bytearray()
    for chunk in stream(key):
        data += chunk
        if len(data) > RECORD_BYTES:
            raise NotFound("the record of the tests is too large")
    return bytes(data)


MOST_ROWS: Final = 300  # that a person looks through; the JSON has all
_FAILED, _RETRIED, _OTHERS = range(3)


@dataclass(frozen=True, slots=True)
class TestRow:
    """A test case with its program. ``is_retried``: it failed, then passed."""

    __test__ = False

    program: str
    case: TestCase
    is_retried: bool


@dataclass(frozen=True, slots=True)
class TestTable:
    """The test cases that are shown.

    Args:
        rows: at most :data:`MOST_ROWS`, the most important first.
        hidden: how many more match the search.
        counts: of each status that occurs, over all test cases.
        retried: how many failed and then passed.
        seconds: the sum of all durations.
        is_cut: there are test cases that the build did not record.
    """

    __test__ = False

    rows: tuple[TestRow, ...]
    hidden: int
    counts: Mapping[CaseStatus, int]
    retried: int
    seconds: float
    is_cut: bool


def lay_out(suites: Sequence[TestSuite], words: Words) -> TestTable | None:
    """Choose and order the test cases of a build; return None if it has none."""
    everything = [
        TestRow(suite.program, case, case.name in retried)
        for suite in suites
        for retried in [frozenset(suite.retried)]
        for case in suite.run.cases
    ]
    if not everything:
        return None
    matching = [row for row in everything if words.matches(f"{row.case.name} {row.program}")]
    shown = sorted(matching, key=_urgency)[:MOST_ROWS]
    statuses = [row.case.status for row in everything]
    return TestTable(
        rows=tuple(shown),
        hidden=len(matching) - len(shown),
        counts={status: count for status in CaseStatus if (count := statuses.count(status))},
        retried=sum(row.is_retried for row in everything),
        seconds=sum(row.case.seconds for row in everything),
        is_cut=any(suite.run.is_cut for suite in suites),
    )


def _urgency(row: TestRow) -> tuple[int, float]:
    place = _FAILED if row.case.has_failed else _RETRIED if row.is_retried else _OTHERS
    return place, -row.case.seconds
