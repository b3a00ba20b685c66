"""Read the HTTP API of a Benchgate server."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import quote, urlencode

from typing_extensions import override

from service.adapters.system.json_client import Bearer, JsonClient, Timeouts, fault
from service.domain.values.errors import BadInput, BenchgateError, Refused, Transient
from service.domain.values.text import plain

TOKEN: Final = "BENCHGATE_TOKEN"  # the environment variable
_PROBLEM: Final = "application/problem+json"
_TIMEOUTS: Final = Timeouts(silence=20.0, whole=40.0)  # a person waits


class ServerApi(JsonClient):
    """The API below ``/api/v1``, as the holder of a token; its rights are those of the holder.

    Args:
        url: the server's address, including its path if it has one.
        token: empty: read what everybody may see.
        timeouts: limits on waiting.

    Raises:
        BadInput: the address or the token cannot be used; the message shows no secret.
    """

    server = "Benchgate"
    max_bytes = 32 << 20  # a patch set with thousands of comparisons

    def __init__(self, url: str, token: str = "", timeouts: Timeouts = _TIMEOUTS) -> None:
        try:
            super().__init__(url, Bearer(token) if token else None, timeouts)
        except ValueError as error:
            raise BadInput(str(error), "benchgate mcp") from None

    def read(self, *path: str | int, **query: str | int | None) -> Any:  # noqa: ANN401 - any JSON
        """Request a resource by the parts of its path; a value None is left out. Raises like ``get``."""
        parts = "/".join(quote(str(part), safe="~") for part in path)
        given = {name: value for name, value in query.items() if value is not None}
        return self.get(f"api/v1/{parts}", urlencode(given))

    @override
    def _document(self, data: bytes) -> Any:
        try:
            return json.loads(data)
        except ValueError:
            raise Transient("the answer is not JSON: is this the address of a Benchgate server?") from None

    @override
    def _fault(self, response: Any, data: bytes) -> BenchgateError:
        is_own = response.headers.get("Content-Type", "").startswith(_PROBLEM)
        problem = _problem_in(data) if is_own else {}
        errors = problem.get("errors") or ()
        reason = "; ".join(plain(str(each)) for each in (problem.get("detail"), *errors) if each)
        found = fault(response, self.server, reason, is_own=is_own)
        if response.status_code == 401:  # noqa: PLR2004 - HTTP's own number
            return Refused(f"{found}; set {TOKEN} to an API token with the scope read")
        return found


def _problem_in(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
