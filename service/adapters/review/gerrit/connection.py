"""Request JSON from Gerrit as one account, and tell Gerrit's errors from those of a proxy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from service.adapters.system.json_client import JsonClient, Timeouts, fault, http_date
from service.domain.values.errors import Transient
from service.domain.values.text import plain

if TYPE_CHECKING:
    from datetime import datetime

    import httpx

    from service.adapters.system.json_client import Bearer, Password
    from service.domain.values.errors import BenchgateError

_GUARD: Final = b")]}'"  # the first bytes of every JSON response of Gerrit, and of no other server
_BY_A_PROXY: Final = (b"404 ", b"default backend")  # plain-text errors of Go programs and Kubernetes
PATIENT: Final = Timeouts()
QUICK: Final = Timeouts(connect=2.0, silence=5.0, whole=8.0)  # somebody waits for the page


class GerritConnection(JsonClient):
    """Gerrit's REST API, below ``/a/`` for those who sign in."""

    server = "Gerrit"
    max_bytes = 8 << 20

    def __init__(
        self,
        url: str,
        credentials: Password | Bearer | None,
        timeouts: Timeouts = PATIENT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(url, credentials, timeouts, transport)
        if credentials is not None:
            self._root += "a/"

    def now(self) -> datetime:
        """Read the server's clock from the headers of a response; raises like ``get``."""
        headers, _ = self._answer("GET", "accounts/self")
        moment = http_date(headers.get("Date", ""))
        if moment is None:
            raise Transient("Gerrit's response has no date")
        return moment

    @override
    def _document(self, data: bytes) -> Any:
        if not data.startswith(_GUARD):
            raise Transient("the response is not from Gerrit; check Gerrit's address, and proxies in between")
        try:
            return json.loads(data[len(_GUARD) :])
        except (ValueError, RecursionError) as error:
            raise Transient("Gerrit's response is not readable JSON") from error

    @override
    def _fault(self, response: httpx.Response, data: bytes) -> BenchgateError:
        # Gerrit's own errors are plain text; an HTML page comes from a proxy and is not quoted.
        is_text = response.headers.get("Content-Type", "").startswith("text/plain")
        reason = plain(data.decode(errors="replace")) if is_text else ""
        return fault(response, self.server, reason, is_own=is_text and not data.startswith(_BY_A_PROXY))
