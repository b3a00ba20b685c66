"""The record of a build's test cases: read for a page, and served as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request  # noqa: TC002 - FastAPI reads the annotations
from fastapi.responses import Response

from dashboards.building.routes import JobName, Number  # noqa: TC001 - FastAPI reads the annotations
from service.domain.measuring.tests.record import RECORD_BYTES, read_tests
from service.domain.values.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fastapi import APIRouter

    from service.domain.building.logs.stored_log import Stream
    from service.domain.measuring.tests.record import TestSuite
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
    """Read the test cases of a build; none if their record is empty or no longer stored."""
    try:
        return read_tests(_bytes_of(stream, key)) if key else ()
    except NotFound:
        return ()


def _bytes_of(stream: Stream, key: str) -> bytes:
    size, chunks = stream(key)
    if size > RECORD_BYTES:
        raise NotFound("the record of the tests is too large")
    return b"".join(chunks)
