"""Route the page that compares two commits of a branch."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse  # noqa: TC002 - FastAPI reads the annotation

from dashboards.rendering import NO_URLS, Pages
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.evidence import SESSION_PAIRS
from service.domain.verdict.inference.verdict import Verdict
from service.ports.commits import BranchName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.ports.commits import CommitPair, CommitReading
    from service.steps.runs.check_health import HealthCheck

    FormOf = Callable[[Request, CommitPair], object]

_LISTED: Final = 100
_KINDS: Final = MappingProxyType(
    {
        RunKind.POST_SUBMIT: "the run of the later commit",
        RunKind.ANCHOR: "distant commits",
        RunKind.LONGER: "measured longer",
    }
)
Name = Annotated[str, Query(max_length=300)]
Commit = Annotated[str, Query(max_length=100)]


def create_compare(
    reading_of: Callable[[Request], CommitReading],
    health: HealthCheck,
    form_of: FormOf,
    review_urls: Mapping[str, str] = NO_URLS,
) -> APIRouter:
    """Create the route of the page.

    Args:
        reading_of: returns the commits that the caller of a request may see.
        health: the check whose problems every page shows.
        form_of: returns the form that lets the caller ask for a measurement.
        review_urls: the addresses of the Gerrits by instance.
    """
    pages = Pages(health, review_urls)
    router = APIRouter(include_in_schema=False)

    @router.get("/compare")
    def compare(
        request: Request,
        instance: Name = "",
        project: Name = "",
        branch: Name = "",
        base: Commit = "",
        patch: Commit = "",
    ) -> HTMLResponse:
        reading, chosen = reading_of(request), BranchName(instance, project, branch)
        branches = reading.branches()
        if not branch and len(branches) == 1:
            chosen = branches[0]
        pair = reading.pair(chosen, base, patch) if base and patch else None
        return pages.render(
            request,
            "compare.html",
            branches=branches,
            chosen=chosen,
            commits=reading.commits(chosen, _LISTED) if chosen.branch else (),
            base=base,
            patch=patch,
            pair=pair,
            form=form_of(request, pair) if pair else None,
            verdicts=tuple(Verdict),
            pairs=SESSION_PAIRS,
            kinds=_KINDS,
        )

    return router
