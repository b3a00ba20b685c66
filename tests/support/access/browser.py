"""A browser as far as the application sees it: cookies, and the headers that name the sender."""

from __future__ import annotations

from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Final

from tests.support.access.callers import BASE_URL
from tests.support.web import call

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx
    from fastapi import FastAPI

_PAGE: Final = "text/html,application/xhtml+xml"


class Browser:
    """A browser that follows no redirects; ``cookies`` are those that it has now."""

    def __init__(self, app: FastAPI, origin: str = BASE_URL) -> None:
        self._app = app
        self._origin = origin
        self.cookies: dict[str, str] = {}

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        return self._send("GET", path, {"Accept": _PAGE, **(headers or {})})

    def post(
        self,
        path: str,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        sender = {"Accept": _PAGE, "Origin": self._origin}
        return self._send("POST", path, {**sender, **(headers or {})}, form or {})

    def _send(
        self, method: str, path: str, headers: Mapping[str, str], form: Mapping[str, str] | None = None
    ) -> httpx.Response:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent = {**headers, **({"Cookie": cookie} if cookie else {})}
        more = {} if form is None else {"data": form}
        answer = call(self._app, method, path, headers=sent, **more)
        for line in answer.headers.get_list("set-cookie"):
            for name, morsel in SimpleCookie(line).items():
                if morsel["max-age"] == "0":
                    self.cookies.pop(name, None)
                else:
                    self.cookies[name] = morsel.value
        return answer
