"""Route the API of regressions, and of commits that are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request

from service.domain.trunk.regression import RegressionList  # noqa: TC001 - FastAPI reads the annotation
from service.domain.values.search import parse_words
from service.ports.commits import BranchName, CommitPair
from service.ports.trunk import RegressionDetail  # noqa: TC001 - FastAPI reads the annotation
from service.web import schemas
from service.web.api import CursorText, Id, Limit, last_id
from service.web.conditional import ConditionalRoute
from service.web.problems import RESPONSES

if TYPE_CHECKING:
    from service.web.trunk.commits import CommitReadingOf
    from service.web.trunk.regressions import RegressionReadingOf

Name = Annotated[str, Query(max_length=300)]
Commit = Annotated[str, Query(max_length=100, description="its id, or the first seven or more digits")]


def create_regressions_api(reading_of: RegressionReadingOf) -> APIRouter:
    """Create the routes below ``/api/v1/regressions``; all of them only read.

    Args:
        reading_of: returns the regressions that the caller of a request may see.
    """
    router = APIRouter(prefix="/api/v1", route_class=ConditionalRoute, responses=RESPONSES)

    @router.get("/regressions", operation_id="listRegressions", tags=["regressions"])
    def list_regressions(
        request: Request,
        of: Annotated[RegressionList | None, Query(alias="list", description="default: all")] = None,
        q: Annotated[str, Query(max_length=200, description="`words -not`")] = "",
        limit: Limit = 50,
        cursor: CursorText = None,
    ) -> schemas.Regressions:
        """Merged commits that made benchmarks slower, each with its worst result, the newest first."""
        before = None if cursor is None else last_id(cursor)
        found = tuple(reading_of(request).regressions(of, parse_words(q), limit + 1, before))
        page, more = found[:limit], len(found) > limit
        return schemas.Regressions(items=page, next=str(page[-1].id) if more else None)

    @router.get("/regressions/{regression_id}", operation_id="getRegression", tags=["regressions"])
    def get_regression(request: Request, regression_id: Id) -> RegressionDetail:
        """A regression with all its slower results, and what the gate had said about each."""
        return reading_of(request).regression(regression_id)

    return router


def create_commits_api(reading_of: CommitReadingOf) -> APIRouter:
    """Create the route ``/api/v1/compare``, which only reads.

    Args:
        reading_of: returns the commits that the caller of a request may see.
    """
    router = APIRouter(prefix="/api/v1", route_class=ConditionalRoute, responses=RESPONSES)

    @router.get("/compare", operation_id="compareCommits", tags=["commits"])
    def compare(
        request: Request, instance: Name, project: Name, branch: Name, base: Commit, patch: Commit
    ) -> CommitPair:
        """Two commits of a branch, the earlier one as the base, and the runs that measured them together."""
        return reading_of(request).pair(BranchName(instance, project, branch), base, patch)

    return router
