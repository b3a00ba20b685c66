"""Call Gerrit's REST API as one account."""

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
# The first bytes of every response, so that a page of another site cannot run it as a script.
GUARD: Final = b")]}'"


class NotThere(CannotServe):
    """The server has no such resource."""


class Rest:
    """The REST API of a server, for one account."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self._url = url
        word = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._authorization = f"Basic {word}"
        # The server is on this machine, so a proxy of the environment is not used.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path: str) -> Any:  # noqa: ANN401  # JSON
        """Read a resource."""
        return self._call("GET", path, None, "")

    def has(self, path: str) -> bool:
        """Return whether a resource exists."""
        try:
            self.get(path)
        except NotThere:
            return False
        return True

    def put(self, path: str, body: object) -> None:
        """Create a resource."""
        self._call("PUT", path, json.dumps(body).encode(), "application/json")

    def post(self, path: str, body: object) -> None:
        """Change a resource."""
        self._call("POST", path, json.dumps(body).encode(), "application/json")

    def post_text(self, path: str, text: str) -> None:
        """Post plain text to a resource."""
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
            message = error.read().decode(errors="replace").strip()
            raise kind_of(f"{method} {path}: {error.code} {message}") from error
        except OSError as error:
            raise CannotServe(f"{method} {path}: {error}") from error
        return json.loads(text) if text.strip() else None


def one(name: str) -> str:
    """Quote a name as one segment of a path."""
    return quote(name, safe="")
