"""The web application, assembled from routers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware

from service.web.guard import Guard
from service.web.problems import install_problems

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from fastapi import APIRouter

    from service.web.problems import ProblemPage

_FEWEST_BYTES: Final = 1024  # less fits into one packet anyway


def assemble(
    routers: Sequence[APIRouter],
    *,
    version: str,
    inline_style_paths: Collection[str] = (),
    problem_page: ProblemPage | None = None,
) -> FastAPI:
    """Create an application with these routes, security headers, and a problem for every error.

    Args:
        routers: from the factories of this package and of the pages.
        version: shown in the OpenAPI document.
        inline_style_paths: pages whose chart library sets styles on elements.
        problem_page: renders the page that browsers get for an error; None: they get a problem too.
    """
    app = FastAPI(
        title="Benchgate",
        summary="Performance CI for C++ projects that are reviewed on Gerrit.",
        version=version,
        openapi_url="/api/v1/openapi.json",
        # FastAPI's own pages load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for router in routers:
        app.include_router(router)
    install_problems(app, problem_page)
    # Inside the guard, so that the header lines of HEAD are those of the compressed GET.
    app.add_middleware(GZipMiddleware, minimum_size=_FEWEST_BYTES, compresslevel=5)
    app.add_middleware(Guard, inline_style_paths=inline_style_paths)
    return app
