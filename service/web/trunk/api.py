"""Route the API of regressions, and of commits that are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request

from service.domain.trunk.reference import WAYS
from service.domain.trunk.regression import RegressionList  # noqa: TC001 - FastAPI reads the annotation
from service.domain.values.search import parse_words
from service.ports.commits import BranchName, CommitPair, PatchSetPair
from service.ports.trunk import Ledger, RegressionDetail  # noqa: TC001 - FastAPI reads the annotation
from service.steps.trunk.compare_references import compare_references
from service.web import schemas
from service.web.api import CursorText, Id, Limit, Words, last_id
from service.web.conditional import ConditionalRoute
from service.web.problems import RESPONSES

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.ports.reading import ChangeReading
    from service.web.trunk.commits import CommitReadingOf
    from service.web.trunk.regressions import RegressionReadingOf

Instance = Annotated[str, Query(max_length=300, description="the review server's name", examples=["gerrit"])]
Project = Annotated[str, Query(max_length=300, examples=["kv_engine"])]
Branch = Annotated[str, Query(max_length=300, examples=["master"])]
Compared = Annotated[
    str, Query(max_length=300, description=f"{WAYS}; or the name of the branch", examples=["f1db58c"])
]


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
        q: Words = "",
        limit: Limit = 50,
        cursor: CursorText = None,
    ) -> schemas.Regressions:
        """Merged commits that made benchmarks slower, each with its worst result, newest first."""
        before = None if cursor is None else last_id(cursor)
        found = tuple(reading_of(request).regressions(of, parse_words(q), limit + 1, before))
        page, more = found[:limit], len(found) > limit
        return schemas.Regressions(items=page, next=str(page[-1].id) if more else None)

    @router.get("/regressions/{regression_id}", operation_id="getRegression", tags=["regressions"])
    def get_regression(request: Request, regression_id: Id) -> RegressionDetail:
        """A regression with all its slower results, and what the gate had said about each."""
        return reading_of(request).regression(regression_id)

    @router.get("/ledger", operation_id="getLedger", tags=["regressions"])
    def get_ledger(request: Request) -> Ledger:
        """Count how the gate had judged the slow-downs found on branches in the last 30 days."""
        return reading_of(request).ledger()

    return router


def create_commits_api(
    reading_of: CommitReadingOf, changes_of: Callable[[Request], ChangeReading]
) -> APIRouter:
    """Create the routes that list branches and commits, and compare two commits.

    Args:
        reading_of: returns the commits that the caller of a request may see.
        changes_of: returns the changes that the caller may see.
    """
    router = APIRouter(prefix="/api/v1", route_class=ConditionalRoute, responses=RESPONSES)

    @router.get("/branches", operation_id="listBranches", tags=["commits"])
    def list_branches(request: Request) -> schemas.Branches:
        """Branches with a commit in the last 30 days."""
        return schemas.Branches(tuple(reading_of(request).branches()))

    @router.get("/commits", operation_id="listCommits", tags=["commits"])
    def list_commits(
        request: Request, instance: Instance, project: Project, branch: Branch, limit: Limit = 50
    ) -> schemas.Commits:
        """The newest commits of a branch, newest first; each may be compared with another."""
        return schemas.Commits(
            tuple(reading_of(request).commits(BranchName(instance, project, branch), limit))
        )

    @router.get("/compare", operation_id="compareCommits", tags=["commits"])
    def compare(
        request: Request,
        base: Compared,
        patch: Compared,
        instance: Instance = "",
        project: Project = "",
        branch: Branch = "",
    ) -> CommitPair | PatchSetPair:
        """Two commits of a branch, the earlier one as the base, and the runs that measured them together.

        Only patch sets need no branch. They are not measured together: two that were measured against the
        same code have the ratio of their ratios, which is no verdict.
        """
        name = BranchName(instance, project, branch)
        return compare_references(reading_of(request), changes_of(request), name, base, patch)

    return router
