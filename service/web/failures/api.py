"""Route the API of known failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request

from service.ports.failures.reading import KnownDetail, KnownStatus
from service.web import schemas
from service.web.api import CursorText, Id, Limit, last_id
from service.web.conditional import ConditionalRoute
from service.web.problems import RESPONSES

if TYPE_CHECKING:
    from service.web.failures.changes import FailureReadingOf


def create_failures_api(reading_of: FailureReadingOf) -> APIRouter:
    """Create the routes below ``/api/v1/known-failures``; all of them only read.

    Args:
        reading_of: returns the known failures that the caller of a request may see.
    """
    router = APIRouter(prefix="/api/v1", route_class=ConditionalRoute, responses=RESPONSES)

    @router.get("/known-failures", operation_id="listKnownFailures", tags=["failures"])
    def list_known_failures(
        request: Request,
        status: Annotated[
            KnownStatus, Query(description="the list; `active`: those in force", examples=["active"])
        ] = KnownStatus.ACTIVE,
        limit: Limit = 50,
        cursor: CursorText = None,
    ) -> schemas.KnownFailures:
        """Known failures of a list with their builds of the last 30 days, the last made known first."""
        before = None if cursor is None else last_id(cursor)
        found = tuple(reading_of(request).known_failures(status, limit + 1, before=before))
        page, more = found[:limit], len(found) > limit
        return schemas.KnownFailures(items=page, next=str(page[-1].id) if more else None)

    @router.get("/known-failures/{known_id}", operation_id="getKnownFailure", tags=["failures"])
    def get_known_failure(request: Request, known_id: Id) -> KnownDetail:
        """A known failure with its days, hosts and newest builds."""
        return reading_of(request).known_failure(known_id)

    return router
