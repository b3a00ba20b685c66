"""HTTP requests to Gerrit as one account; the result is JSON or one of Benchgate's errors."""

from __future__ import annotations

import base64
import json
import os
import re
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

import httpx

from service.domain.values.errors import Forbidden, NotFound, Permanent, Refused, Transient
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.values.errors import BenchgateError

MAX_BYTES: Final = 8 << 20
_SHOWN_BYTES: Final = 4 << 10  # of an error response; its message is far shorter
_LONGEST_WAIT: Final = 3600.0  # seconds; a longer Retry-After is cut
_GUARD: Final = b")]}'"  # the first bytes of every JSON response of Gerrit, and of no other server
_BY_A_PROXY: Final = (b"404 ", b"default backend")  # plain-text errors of Go programs and Kubernetes
_PASSING: Final = frozenset({408, 425, 429, 499})  # too slow, too early, too many, aborted by Gerrit
_HEADER_TEXT: Final = re.compile(r"[!-~]+")


class Overlong(Transient):
    """A response is longer than the limit."""


@dataclass(frozen=True, slots=True)
class Password:
    """An HTTP password, or an authentication token in newer servers."""

    username: str
    secret: str = field(repr=False)

    def authorization(self) -> str:
        """Make the value of the header.

        Raises:
            ValueError: the user name is empty or has a colon; the message shows neither name nor secret.
        """
        if not self.username or ":" in self.username:
            raise ValueError("the Gerrit user name is empty or contains a colon")
        return "Basic " + base64.b64encode(f"{self.username}:{self.secret}".encode()).decode()


@dataclass(frozen=True, slots=True)
class Bearer:
    """A token of the identity provider that handles the server's sign-in."""

    secret: str = field(repr=False)

    def authorization(self) -> str:
        """Make the value of the header.

        Raises:
            ValueError: the token cannot be sent; the message does not show it.
        """
        if not _HEADER_TEXT.fullmatch(self.secret):
            raise ValueError("the bearer token contains other characters than printable ASCII without blanks")
        return f"Bearer {self.secret}"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds: for a connection, for the next byte, and for the whole response."""

    connect: float = 5.0
    silence: float = 30.0
    whole: float = 120.0


PATIENT: Final = Timeouts()
QUICK: Final = Timeouts(connect=2.0, silence=5.0, whole=8.0)  # somebody waits for the page


class Connection:
    """An HTTP client that opens its connections in each process anew, because a fork must not share a socket.

    Args:
        url: Gerrit's address, including its path if it has one.
        credentials: those of Benchgate's account; None: the requests are those of a reader who does not sign
            in.
        timeouts: limits on waiting.
        transport: a replacement of the network.

    Raises:
        ValueError: the address or the credentials cannot be used; the message shows no secret.
    """

    def __init__(
        self,
        url: str,
        credentials: Password | Bearer | None,
        timeouts: Timeouts = PATIENT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._root = f"{_checked(url)}/{'a/' if credentials else ''}"
        self._headers = {"Accept": "application/json"}
        if credentials is not None:
            self._headers["Authorization"] = credentials.authorization()
        self._timeouts = timeouts
        self._transport = transport
        self._open: tuple[int, httpx.Client] | None = None  # with the ID of the process that opened it

    def get(self, path: str, query: str = "") -> Any:  # noqa: ANN401 - any JSON
        """Request a resource; ``path`` and ``query`` are already quoted.

        Raises:
            Refused: Gerrit rejects the credentials (Forbidden: only for this request).
            NotFound: there is no such resource, or the account cannot see it.
            Permanent: any other error of the request, with Gerrit's message.
            Transient: no response, an overlong one (Overlong), or one that is not from Gerrit.
        """
        url = f"{self._root}{path}?{query}" if query else self._root + path
        return self._answer("GET", url, None)[1]

    def post(self, path: str, body: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as above
        """Send a document; raises like ``get``. After Transient, Gerrit may have applied it or not."""
        # JSON escapes make it ASCII: a lone surrogate cannot be encoded in UTF-8.
        return self._answer("POST", self._root + path, json.dumps(body).encode())[1]

    def now(self) -> datetime:
        """Read the server's clock from the headers of a response; raises like ``get``."""
        headers, _ = self._answer("GET", self._root + "accounts/self", None)
        moment = _moment(headers.get("Date", ""))
        if moment is None:
            raise Transient("Gerrit's response has no date")
        return moment

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        opened, self._open = self._open, None
        if opened is not None and opened[0] == os.getpid():
            opened[1].close()

    def _client(self) -> httpx.Client:
        opened, wait = self._open, self._timeouts
        if opened is None or opened[0] != os.getpid():
            # An inherited client is not closed: its connections belong to the parent process.
            client = httpx.Client(
                headers=self._headers,
                timeout=httpx.Timeout(wait.silence, connect=wait.connect),
                transport=self._transport,
                follow_redirects=False,
            )
            opened = self._open = (os.getpid(), client)
        return opened[1]

    def _answer(self, method: str, url: str, body: bytes | None) -> tuple[httpx.Headers, Any]:
        """Send a request, and return the headers and the JSON of Gerrit's response."""
        ends = time.monotonic() + self._timeouts.whole
        headers = {} if body is None else {"Content-Type": "application/json; charset=utf-8"}
        try:
            with self._client().stream(method, url, content=body, headers=headers) as response:
                data = _read(response, ends)
        except httpx.InvalidURL as error:
            raise Permanent(f"the request is not a valid URL: {plain(str(error))}") from error
        except httpx.HTTPError as error:
            reason = plain(str(error)) or type(error).__name__
            raise Transient(f"Gerrit cannot be reached: {reason}") from error
        if not response.is_success:
            raise _fault(response, data)
        if not data.startswith(_GUARD):
            raise Transient("the response is not from Gerrit; check Gerrit's address, and proxies in between")
        try:
            return response.headers, json.loads(data[len(_GUARD) :])
        except (ValueError, RecursionError) as error:
            raise Transient("Gerrit's response is not readable JSON") from error


def _checked(url: str) -> str:
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        raise ValueError("Gerrit's address is not a valid URL") from None
    if parts.scheme not in {"http", "https"} or not parts.host:
        raise ValueError("Gerrit's address must begin with https:// (or http://) and name a host")
    if parts.userinfo or parts.query or parts.fragment:
        raise ValueError("Gerrit's address must not contain credentials, a query or a fragment")
    return url.rstrip("/?#")


def _read(response: httpx.Response, ends: float) -> bytes:
    """Read the whole body of a success, or the beginning of an error's body."""
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if not response.is_success and len(body) >= _SHOWN_BYTES:
            break
        if len(body) > MAX_BYTES:
            raise Overlong(f"Gerrit's response is longer than {MAX_BYTES >> 20} MiB")
        if time.monotonic() > ends:
            raise Transient("Gerrit's response did not end in time")
    return bytes(body)


def _fault(response: httpx.Response, data: bytes) -> BenchgateError:
    status = response.status_code
    # Gerrit's own errors are plain text; an HTML page comes from a proxy and is not quoted.
    is_text = response.headers.get("Content-Type", "").startswith("text/plain")
    reason = plain(data[:_SHOWN_BYTES].decode(errors="replace")) if is_text else ""
    message = f"Gerrit answers {status}: {reason or plain(response.reason_phrase)}"
    if status < 400:  # noqa: PLR2004 - a redirect
        return Refused(f"Gerrit answers {status}: a redirect, perhaps to a login page")
    if status in {401, 403}:
        return Forbidden(message) if status == 403 else Refused(message)  # noqa: PLR2004 - HTTP's own numbers
    if status >= 500 or status in _PASSING:  # noqa: PLR2004 - HTTP's own numbers
        return Transient(message, _retry_after(response.headers.get("Retry-After")))
    if status == 404:  # noqa: PLR2004 - HTTP's own numbers
        # A proxy answers so while Gerrit is down, and then the change still exists.
        is_own = is_text and not data.startswith(_BY_A_PROXY)
        return NotFound(message) if is_own else Transient(f"{message} (from a proxy, not from Gerrit)")
    return Permanent(message)


def _retry_after(value: str | None) -> float | None:
    """Parse the header, which has seconds or a date, into seconds; None if it has neither."""
    if value is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", value):
        return min(float(value), _LONGEST_WAIT)
    moment = _moment(value)
    if moment is None:
        return None
    return min(max((moment - datetime.now(UTC)).total_seconds(), 0.0), _LONGEST_WAIT)


def _moment(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    # An HTTP date without a time zone is in UTC.
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
