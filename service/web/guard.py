"""Middleware around every request: an id, security headers, HEAD, and an answer to every failure."""

from __future__ import annotations

import re
import uuid
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from service.web.access.authenticate import add_headers
from service.web.problems import answered, unhandled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOG = structlog.get_logger(__name__)
_POLICY: Final = (
    "default-src 'self'; script-src 'self'; style-src {style}; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors {framers}"
)
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_MOST_BYTES: Final = 64 << 10  # of a body: FastAPI reads it before it asks who sent it
# A machine sends artifacts of gigabytes, after the check of its rights.
UPLOADS: Final = re.compile(r"/api/v1/artifacts/[^/]+/[^/]+")
# These routes read bodies themselves, up to limits of their own; the others take events and results of tests.
_OWN_LIMIT: Final = re.compile(rf"/webhooks/.*|/api/v1/builds/[^/]+/[^/]+/tests|{UPLOADS.pattern}")
_TOO_LARGE: Final = f"the body of a request has at most {_MOST_BYTES >> 10} KiB"
_NAMES: Final = {"run_id": "run", "change": "change", "patch_set": "patch_set"}  # of the routes, and in logs
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9-]{8,64}")


class Guard:
    """ASGI middleware. It limits bodies, and answers HEAD as GET, without the body.

    Args:
        app: the application.
        chart_paths: only on these pages may scripts set styles on elements; and only those of them with
            the group ``framed`` may be part of a page of another site.
    """

    def __init__(self, app: ASGIApp, *, chart_paths: re.Pattern[str] | None = None) -> None:
        self._app = app
        self._chart_paths = chart_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given_id = Headers(scope=scope).get("x-request-id", "")
        request_id = given_id if _REQUEST_ID.fullmatch(given_id) else uuid.uuid4().hex
        is_head = scope["method"] == "HEAD"
        # A route that reads much for its body does not do so for HEAD.
        scope.setdefault("state", {}).update(request_id=request_id, is_head=is_head)
        is_started = False

        async def send_guarded(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                given = MutableHeaders(scope=message)
                for name, value in self._headers(scope["path"], request_id, message["status"]).items():
                    given.setdefault(name, value)
                add_headers(scope, given)
            elif is_head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        try:
            # A copy, because the server must still see HEAD: it then expects no body.
            inner = {**scope, "method": "GET"} if is_head else scope
            if _announces_too_much(scope):
                await answered(Request(scope), 413, _TOO_LARGE)(scope, receive, send_guarded)
            else:
                await self._app(inner, _limited(scope, receive), send_guarded)
        except ClientDisconnect:
            # Without the path, which may hold a secret.
            _LOG.warning("request.aborted", request_id=request_id, method=scope["method"])
        except Exception:
            named = _named(inner.get("path_params", {}))
            _LOG.exception("request.failed", request_id=request_id, method=scope["method"], **named)
            if is_started:
                raise
            answer = unhandled(Request(scope))
            await answer(scope, receive, send_guarded)

    def _headers(self, path: str, request_id: str, status: int) -> dict[str, str]:
        chart = self._chart_paths and self._chart_paths.fullmatch(path)
        style = "'self' 'unsafe-inline'" if chart else "'self'"
        headers = {
            **_HEADERS,
            "Content-Security-Policy": _POLICY.format(style=style, framers="'none'"),
            "X-Request-Id": request_id,
        }
        if chart and chart["framed"] and status == HTTPStatus.OK:
            headers["Content-Security-Policy"] = _POLICY.format(style=style, framers="*")
            del headers["X-Frame-Options"]
        return headers


def _named(found: Mapping[str, object]) -> dict[str, str]:
    """Return the run, build, change and patch set that the address of a request names, for logs."""
    named = {label: str(found[name]) for name, label in _NAMES.items() if name in found}
    return named | ({"build": f"{found['job']}/{found['number']}"} if {"job", "number"} <= set(found) else {})


def _announces_too_much(scope: Scope) -> bool:
    announced = Headers(scope=scope).get("content-length", "")
    is_limited = not _OWN_LIMIT.fullmatch(scope["path"])
    return is_limited and announced.isdigit() and int(announced[:20]) > _MOST_BYTES


def _limited(scope: Scope, receive: Receive) -> Receive:
    """Return a source of the body that fails as soon as the body proves too large."""
    if _OWN_LIMIT.fullmatch(scope["path"]):
        return receive
    received = 0

    async def receive_limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > _MOST_BYTES:
            raise HTTPException(413, _TOO_LARGE)
        return message

    return receive_limited
