"""Assemble the web application from routers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.middleware.gzip import GZipMiddleware

from service.web.access.account_link import account_link
from service.web.access.authenticate import authorize
from service.web.guard import Guard
from service.web.problems import install_problems

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from fastapi import APIRouter

    from service.web.access.authenticate import Access
    from service.web.problems import ProblemPage

_FEWEST_BYTES: Final = 1024  # less fits into one packet anyway


def assemble(
    routers: Sequence[APIRouter],
    *,
    access: Access,
    version: str,
    chart_paths: re.Pattern[str] | None = None,
    problem_page: ProblemPage | None = None,
) -> FastAPI:
    """Create an application with these routes, rights checks, security headers, and problems.

    Args:
        routers: from the factories of this package and of the pages.
        access: the rights that the routes ask for, and the stores that know the callers.
        version: shown in the OpenAPI document.
        chart_paths: as for the guard: on these pages the chart library sets styles on elements.
        problem_page: renders the page that browsers get for an error; None: they get a problem too.
    """
    app = FastAPI(
        title="Benchgate",
        summary="Performance CI for C++ projects that are reviewed on Gerrit.",
        version=version,
        openapi_url=None,  # FastAPI's own route would not ask for a right
        # FastAPI's own pages load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(authorize)],
    )
    app.state.access = access
    app.state.account_link = account_link
    for router in routers:
        app.include_router(router)

    @app.get("/api/v1/openapi.json", include_in_schema=False)
    def openapi(request: Request) -> JSONResponse:
        # FastAPI remembers the functions of routes: one that names the application would keep it.
        return JSONResponse(request.app.openapi())

    install_problems(app, problem_page)
    # Inside the guard, so that the header lines of HEAD are those of the compressed GET.
    app.add_middleware(GZipMiddleware, minimum_size=_FEWEST_BYTES, compresslevel=5)
    app.add_middleware(Guard, chart_paths=chart_paths)
    return app
