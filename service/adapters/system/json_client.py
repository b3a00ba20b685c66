"""Exchange JSON with a server as one account: deadlines, limits, and the error that each status becomes."""

from __future__ import annotations

import base64
import json
import os
import re
import time
from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from socket import SHUT_RDWR
from threading import Timer
from typing import TYPE_CHECKING, Any, ClassVar, Final

import httpx

from service.domain.values.errors import Forbidden, NotFound, Permanent, Refused, Transient
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from socket import socket

    from service.domain.values.errors import BenchgateError

ERROR_BYTES: Final = 8 << 10  # of an error response; its message is far shorter
_LONGEST_WAIT: Final = 3600.0  # seconds; a longer Retry-After is cut
_PASSING: Final = frozenset({408, 425, 429, 499})  # too slow, too early, too many, aborted by the server
_HEADER_TEXT: Final = re.compile(r"[!-~]+")


class Overlong(Transient):
    """A response is longer than the limit."""


@dataclass(frozen=True, slots=True)
class Password:
    """A user's password, or a token that stands in its place."""

    username: str
    secret: str = field(repr=False)

    def authorization(self, server: str) -> str:
        """Make the value of the header.

        Raises:
            ValueError: the user name is empty or has a colon; the message shows neither name nor secret.
        """
        if not self.username or ":" in self.username:
            raise ValueError(f"{server}'s user name is empty or contains a colon")
        return "Basic " + base64.b64encode(f"{self.username}:{self.secret}".encode()).decode()


@dataclass(frozen=True, slots=True)
class Bearer:
    """A token that names its user."""

    secret: str = field(repr=False)

    def authorization(self, server: str) -> str:
        """Make the value of the header.

        Raises:
            ValueError: the token cannot be sent; the message does not show it.
        """
        if not _HEADER_TEXT.fullmatch(self.secret):
            raise ValueError(f"{server}'s token contains characters other than printable ASCII, or blanks")
        return f"Bearer {self.secret}"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds: for a connection, for the next byte, and for the whole response."""

    connect: float = 5.0
    silence: float = 30.0
    whole: float = 120.0


class JsonClient(ABC):
    """Request JSON from one server; a subclass knows its documents and errors. Follows no redirect.

    Opens its connections in each process anew, because a fork must not share a socket.

    Args:
        url: the server's address, including its path if it has one.
        credentials: those of Benchgate's account; None: read without signing in.
        timeouts: limits on waiting.
        transport: a replacement of the network.

    Raises:
        ValueError: the address or the credentials cannot be used; the message shows no secret.
    """

    server: ClassVar[str]  # its name in messages
    max_bytes: ClassVar[int]
    headers: ClassVar[Mapping[str, str]] = {}
    limits: ClassVar[httpx.Limits] = httpx.Limits()

    def __init__(
        self,
        url: str,
        credentials: Password | Bearer | None,
        timeouts: Timeouts,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._root = f"{checked_address(url, self.server)}/"
        self._headers = {"Accept": "application/json", **self.headers}
        if credentials is not None:
            self._headers["Authorization"] = credentials.authorization(self.server)
        self._timeouts = timeouts
        self._transport = transport
        self._open: tuple[int, httpx.Client] | None = None  # with the ID of the process that opened it

    def get(self, path: str, query: str = "") -> Any:  # noqa: ANN401 - any JSON
        """Request a resource; ``path`` and ``query`` are already quoted.

        Raises:
            Refused: the server rejects the credentials (Forbidden: only for this request).
            NotFound: there is no such resource, or the account cannot see it.
            Permanent: any other error of the request, with the server's message.
            Transient: no response, an overlong one (Overlong), or one that is not from such a server.
        """
        return self._answer("GET", f"{path}?{query}" if query else path)[1]

    def post(self, path: str, body: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as above
        """Send a document; raises like ``get``. After Transient, the server may have applied it or not."""
        # JSON escapes make it ASCII: a lone surrogate cannot be encoded in UTF-8.
        return self._answer("POST", path, json.dumps(body).encode())[1]

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        opened, self._open = self._open, None
        if opened is not None and opened[0] == os.getpid():
            opened[1].close()

    @abstractmethod
    def _document(self, data: bytes) -> Any:  # noqa: ANN401 - any JSON
        """Parse the body of a success; raises Transient if it is not from such a server."""

    @abstractmethod
    def _fault(self, response: httpx.Response, data: bytes) -> BenchgateError:
        """Make the error of a response without success from the beginning of its body."""

    def _client(self) -> httpx.Client:
        opened, wait = self._open, self._timeouts
        if opened is None or opened[0] != os.getpid():
            # An inherited client is not closed: its connections belong to the parent process.
            client = httpx.Client(
                headers=self._headers,
                timeout=httpx.Timeout(wait.silence, connect=wait.connect),
                limits=self.limits,
                transport=self._transport,
                follow_redirects=False,
            )
            opened = self._open = (os.getpid(), client)
        return opened[1]

    def _answer(self, method: str, path: str, body: bytes | None = None) -> tuple[httpx.Headers, Any]:
        """Send a request, and return the headers and the JSON of the response."""
        ends = time.monotonic() + self._timeouts.whole
        headers = {} if body is None else {"Content-Type": "application/json; charset=utf-8"}
        try:
            with (
                ending(ends) as trace,
                self._client().stream(
                    method, self._root + path, content=body, headers=headers, extensions={"trace": trace}
                ) as response,
            ):
                data = self._read(response, ends)
        except httpx.InvalidURL as error:
            raise Permanent(f"the request is not a valid URL: {plain(str(error))}") from error
        except httpx.HTTPError as error:
            self._check_time(ends)
            reason = plain(str(error)) or type(error).__name__
            raise Transient(f"{self.server} cannot be reached: {reason}") from error
        if not response.is_success:
            raise self._fault(response, data)
        return response.headers, self._document(data)

    def _read(self, response: httpx.Response, ends: float) -> bytes:
        """Read the whole body of a success, or the beginning of an error's body."""
        identity = "identity"
        asked, sent = self._headers.get("Accept-Encoding"), response.headers.get("Content-Encoding", identity)
        if asked == identity != sent:
            raise Transient(f"{self.server}'s response is compressed, which Benchgate does not accept")
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if not response.is_success and len(body) >= ERROR_BYTES:
                return bytes(body[:ERROR_BYTES])
            if len(body) > self.max_bytes:
                raise Overlong(f"{self.server}'s response is longer than {self.max_bytes >> 20} MiB")
            self._check_time(ends)
        self._check_time(ends)  # a connection that is shut down ends a body without a length
        return bytes(body)

    def _check_time(self, ends: float) -> None:
        if time.monotonic() >= ends:
            raise Transient(f"{self.server}'s response did not end in time")


def http_date(value: str) -> datetime | None:
    """Parse the date of a header; return None for any other text."""
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    # An HTTP date without a time zone is in UTC.
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def fault(response: httpx.Response, server: str, reason: str, *, is_own: bool) -> BenchgateError:
    """Make the error of a response by its status.

    Args:
        response: one without success.
        server: its name in the message.
        reason: the server's message; empty if it gave none.
        is_own: the server itself sent the response, not a proxy, which answers 404 while the server is down.
    """
    status = response.status_code
    message = f"{server} answers {status}: {reason or plain(response.reason_phrase)}"
    if status < 400:  # noqa: PLR2004 - HTTP's own numbers, here and below
        return Refused(f"{server} answers {status}: a redirect, perhaps to a login page")
    if status >= 500 or status in _PASSING:  # noqa: PLR2004
        return Transient(message, _retry_after(response.headers.get("Retry-After")))
    if status == 404 and not is_own:  # noqa: PLR2004
        return Transient(f"{message} (from a proxy, not from {server})")
    kinds: Mapping[int, type[BenchgateError]] = {401: Refused, 403: Forbidden, 404: NotFound}
    return kinds.get(status, Permanent)(message)


@contextmanager
def ending(ends: float) -> Iterator[Callable[[str, Mapping[str, Any]], None]]:
    """Yield a trace of a request that shuts down a connection opened for it at that time.

    The client's own limit counts from the last byte, so a byte now and then would keep a request for days.
    """
    with ExitStack() as stack:

        def trace(event: str, facts: Mapping[str, Any]) -> None:
            if event == "connection.connect_tcp.complete":
                # A copy, because TLS detaches the socket itself from the connection.
                own = stack.enter_context(facts["return_value"].get_extra_info("socket").dup())
                timer = Timer(max(0.0, ends - time.monotonic()), _shut, (own,))
                timer.daemon = True
                timer.start()
                stack.callback(timer.cancel)

        yield trace


def _shut(connection: socket) -> None:
    with suppress(OSError):  # it has ended by itself
        connection.shutdown(SHUT_RDWR)


def checked_address(url: str, server: str) -> str:
    """Return a server's address without a slash at its end; raises ValueError without repeating it."""
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        raise ValueError(f"{server}'s address is not a valid URL") from None
    if parts.scheme not in {"http", "https"} or not parts.host:
        raise ValueError(f"{server}'s address must begin with https:// (or http://) and name a host")
    if parts.userinfo or parts.query or parts.fragment:
        raise ValueError(f"{server}'s address must not contain credentials, a query or a fragment")
    return url.rstrip("/?#")


def _retry_after(value: str | None) -> float | None:
    """Parse the header, which has seconds or a date, into seconds; None if it has neither."""
    if value is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", value):
        return min(float(value), _LONGEST_WAIT)
    moment = http_date(value)
    if moment is None:
        return None
    return min(max((moment - datetime.now(UTC)).total_seconds(), 0.0), _LONGEST_WAIT)
