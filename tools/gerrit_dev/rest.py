"""Calls Gerrit's REST interface as one account."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from tools.gerrit_dev.reporting import CannotServe

TIMEOUT_SECONDS: Final = 60
# In front of every answer, so that no page of another site can take it for a script.
GUARD: Final = b")]}'"


class NotThere(CannotServe):
    """The server knows no such thing."""


class Rest:
    """An account's view of a server."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self._url = url
        word = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._authorization = f"Basic {word}"
        # The server is on this machine: no proxy of the environment is asked.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path: str) -> Any:  # noqa: ANN401  # JSON
        """What is at a path."""
        return self._call("GET", path, None, "")

    def has(self, path: str) -> bool:
        """Whether something is at a path."""
        try:
            self.get(path)
        except NotThere:
            return False
        return True

    def put(self, path: str, body: object) -> None:
        """Make something."""
        self._call("PUT", path, json.dumps(body).encode(), "application/json")

    def post(self, path: str, body: object) -> None:
        """Change something."""
        self._call("POST", path, json.dumps(body).encode(), "application/json")

    def post_text(self, path: str, text: str) -> None:
        """Add a plain text."""
        self._call("POST", path, text.encode(), "text/plain")

    def _call(self, method: str, path: str, body: bytes | None, kind: str) -> Any:  # noqa: ANN401
        headers = {"Authorization": self._authorization, **({"Content-Type": kind} if body else {})}
        request = urllib.request.Request(  # noqa: S310  # always http, to loopback
            f"{self._url}/a{path}", data=body, headers=headers, method=method
        )
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
                text: bytes = answer.read().removeprefix(GUARD)
        except urllib.error.HTTPError as error:
            kind_of = NotThere if error.code == HTTPStatus.NOT_FOUND else CannotServe
            said = error.read().decode(errors="replace").strip()
            raise kind_of(f"{method} {path}: {error.code} {said}") from error
        except OSError as error:
            raise CannotServe(f"{method} {path}: {error}") from error
        return json.loads(text) if text.strip() else None


def one(name: str) -> str:
    """A name as one segment of a path."""
    return quote(name, safe="")
