"""Answer every error of the HTTP interface as a problem (RFC 9457)."""

from __future__ import annotations

import math
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from service.domain.values.errors import (
    BadInput,
    BenchgateError,
    DiskFull,
    NotAllowed,
    NotFound,
    TooMany,
    Transient,
)
from service.domain.values.text import plain
from service.web.access.account_link import account_link, sign_in_path
from service.web.schemas import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fastapi import FastAPI, Request

    from service.domain.access.caller import AccountLink

    # Of a status, a sentence, the header's link to the account, a request's id, and the seconds to wait.
    ProblemPage = Callable[[int, str, AccountLink | None, str, int | None], str]

MEDIA_TYPE = "application/problem+json"
_MOST_ERRORS = 20
_RETRY_SECONDS = 5.0  # a database that restarts
_FAILED = "the service failed to handle this request"
# In the OpenAPI document of every operation with parameters.
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {
        "description": HTTPStatus(status).phrase,
        "content": {MEDIA_TYPE: {"schema": Problem.model_json_schema()}},
    }
    for status in (400, 401, 403, 404, 422, 500, 503)
}


def install_problems(app: FastAPI, page: ProblemPage | None = None) -> None:
    """Answer every error of the application as a problem; a browser outside the API gets a page."""
    app.state.problem_page = page
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(BenchgateError, _known_error)


def problem(
    status: int,
    detail: str,
    *,
    path: str,
    request_id: str,
    errors: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a problem as the answer."""
    body = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=plain(detail, 500),
        instance=plain(path, 500),
        request_id=request_id,
        errors=tuple(errors),
    )
    return Response(
        body.model_dump_json(),
        status_code=status,
        media_type=MEDIA_TYPE,
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def request_id_of(request: Request) -> str:
    """Return the id of a request in the log."""
    return str(request.scope.get("state", {}).get("request_id", ""))


def seconds_to_wait(error: Transient) -> int:
    """Return the seconds after which a client may try again."""
    return math.ceil(error.retry_after or _RETRY_SECONDS)


def unhandled(request: Request) -> Response:
    """Answer a request that nothing else could answer."""
    return answered(request, 500, _FAILED)


def answered(
    request: Request,
    status: int,
    detail: str,
    *,
    retry_after: float | None = None,
    **more: Any,  # noqa: ANN401 - those of problem
) -> Response:
    """Answer a request with a page for a browser outside the API, with a problem for everybody else.

    Both ask to try again after ``retry_after`` seconds, by a header, and the page also by a sentence.
    """
    page: ProblemPage | None = request.app.state.problem_page
    seconds = None if retry_after is None else math.ceil(retry_after)
    if seconds is not None:
        more["headers"] = {**(more.get("headers") or {}), "Retry-After": str(seconds)}
    if page is not None and _is_browser(request):
        text = page(status, plain(detail, 500), account_link(request), request_id_of(request), seconds)
        headers = {"Cache-Control": "no-store", "Vary": "Accept", **(more.get("headers") or {})}
        return HTMLResponse(text, status, headers)
    return problem(status, detail, path=request.url.path, request_id=request_id_of(request), **more)


def _is_browser(request: Request) -> bool:
    is_api = request.url.path.startswith("/api/")
    return not is_api and "text/html" in request.headers.get("accept", "")


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - the handler is registered for it
    return answered(request, error.status_code, str(error.detail), headers=error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - ditto
    errors = [
        plain(f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}")
        for fault in error.errors()[:_MOST_ERRORS]
    ]
    return answered(request, 422, "the request is not valid", errors=errors)


async def _known_error(request: Request, error: Exception) -> Response:
    if isinstance(error, NotFound):
        return answered(request, 404, str(error))
    if isinstance(error, NotAllowed):
        return _forbidden(request, error)
    if isinstance(error, TooMany):
        return answered(request, 429, str(error), retry_after=error.retry_after)
    if isinstance(error, BadInput):
        return answered(request, 400, str(error))
    if isinstance(error, Transient):
        status = 507 if isinstance(error, DiskFull) else 503
        return answered(request, status, str(error), retry_after=seconds_to_wait(error))
    return answered(request, 500, _FAILED)


def _forbidden(request: Request, error: NotAllowed) -> Response:
    if not error.may_sign_in:
        return answered(request, 403, str(error))
    has_token = "authorization" in request.headers
    if request.method == "GET" and _is_browser(request) and not has_token:
        return RedirectResponse(sign_in_path(request), 303, {"Cache-Control": "no-store"})
    return answered(request, 401, str(error), headers={"WWW-Authenticate": 'Bearer realm="benchgate"'})
