"""HTTP requests to a bug tracker as one account; the result is JSON or one of Benchgate's errors."""

from __future__ import annotations

import base64
import json
import re
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from socket import SHUT_RDWR
from threading import Timer
from typing import TYPE_CHECKING, Any, Final

import httpx

from service.domain.values.errors import Forbidden, NotFound, Permanent, Refused, Transient
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from socket import socket

    from service.domain.values.errors import BenchgateError

MAX_BYTES: Final = 1 << 20  # a bug with three fields has about 2 kB
_LONGEST_WAIT: Final = 3600.0  # seconds; a longer Retry-After is cut
_LONGEST_REASON: Final = 300  # characters of an error that are shown
_PASSING: Final = frozenset({408, 425, 429})  # too slow, too early, too many
_HEADER_TEXT: Final = re.compile(r"[!-~]+")
# Jira Cloud answers 404 to a wrong token, as if nobody had signed in, and says so only in this header.
_REJECTED: Final = ("X-Seraph-LoginReason", "AUTHENTICAT")
_TOKEN: Final = "check BENCHGATE_BUGS_USER and BENCHGATE_BUGS_TOKEN"


@dataclass(frozen=True, slots=True)
class Account:
    """An account of the tracker: a user with an API token or password, or a token that names its user.

    Without a token, the requests are those of a reader who does not sign in.
    """

    user: str = ""
    token: str = field(default="", repr=False)

    def headers(self) -> Mapping[str, str]:
        """Make the headers of a request.

        Raises:
            ValueError: user or token cannot be sent; the message does not show the token.
        """
        if not self.token:
            return {}
        if self.user:
            if ":" in self.user:
                raise ValueError("the bug tracker's user name contains a colon")
            pair = base64.b64encode(f"{self.user}:{self.token}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        if not _HEADER_TEXT.fullmatch(self.token):
            raise ValueError("the bug tracker's token has characters other than printable ASCII, or blanks")
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds: for a connection, for the next byte, and for the whole response."""

    connect: float = 5.0
    silence: float = 10.0
    whole: float = 30.0


class Connection:
    """An HTTP client that opens a connection for each request: there are a few in an hour.

    Args:
        url: the tracker's address, including its path if it has one.
        account: the account that the tracker sees.
        timeouts: limits on waiting.
        transport: a replacement of the network.

    Raises:
        ValueError: the address or the account cannot be used; the message shows no secret.
    """

    def __init__(
        self,
        url: str,
        account: Account,
        timeouts: Timeouts | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._root = f"{_checked(url)}/"
        # An unpacked response could be a thousand times longer than the bytes that were sent.
        self._headers = {"Accept": "application/json", "Accept-Encoding": "identity", **account.headers()}
        self._timeouts = timeouts or Timeouts()
        self._transport = transport

    def get(self, path: str, query: str) -> Any:  # noqa: ANN401 - any JSON
        """Request a resource; ``path`` and ``query`` are already quoted.

        Raises:
            Refused: the tracker rejects the account (Forbidden: only for this request).
            NotFound: there is no such resource, or the account cannot see it.
            Permanent: any other error of the request, with the tracker's message.
            Transient: no response, an overlong one, or one that is not from a bug tracker.
        """
        return self._answer("GET", f"{self._root}{path}?{query}", None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as above
        """Send a document; raises like ``get``. After Transient, the tracker may have stored it or not."""
        # JSON escapes make it ASCII: a lone surrogate cannot be encoded in UTF-8.
        return self._answer("POST", self._root + path, json.dumps(body).encode())

    def _answer(self, method: str, url: str, body: bytes | None) -> Any:  # noqa: ANN401 - as above
        wait = self._timeouts
        ends = time.monotonic() + wait.whole
        headers = self._headers if body is None else {**self._headers, "Content-Type": "application/json"}
        timeout = httpx.Timeout(wait.silence, connect=wait.connect)
        try:
            with (
                _ending(ends) as trace,
                httpx.Client(timeout=timeout, transport=self._transport, follow_redirects=False) as client,
                client.stream(
                    method, url, content=body, headers=headers, extensions={"trace": trace}
                ) as response,
            ):
                data = _read(response, ends)
        except httpx.HTTPError as error:
            _check_time(ends)
            reason = plain(str(error)) or type(error).__name__
            raise Transient(f"the bug tracker cannot be reached: {reason}") from error
        document = _json(data)
        if not response.is_success:
            raise _fault(response, document)
        if document is None:
            raise Transient("the response is not JSON; check BENCHGATE_BUGS_URL, and proxies in between")
        return document


def _checked(url: str) -> str:
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        raise ValueError("the bug tracker's address is not a valid URL") from None
    if parts.scheme not in {"http", "https"} or not parts.host:
        raise ValueError("the bug tracker's address must begin with https:// (or http://) and name a host")
    if parts.userinfo or parts.query or parts.fragment:
        raise ValueError("the bug tracker's address must not contain credentials, a query or a fragment")
    return url.rstrip("/?#")


@contextmanager
def _ending(ends: float) -> Iterator[Callable[[str, Mapping[str, Any]], None]]:
    """Yield a trace of a request that shuts its connection down at that time.

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


def _check_time(ends: float) -> None:
    if time.monotonic() >= ends:
        raise Transient("the bug tracker's response did not end in time")


def _read(response: httpx.Response, ends: float) -> bytes:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise Transient("the bug tracker's response is compressed, which Benchgate does not accept")
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > MAX_BYTES:
            raise Transient(f"the bug tracker's response is longer than {MAX_BYTES >> 20} MiB")
        _check_time(ends)
    _check_time(ends)  # a connection that is shut down ends a body without a length
    return bytes(body)


def _json(data: bytes) -> Any:  # noqa: ANN401 - any JSON
    """Parse an object; None if it is none."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _fault(response: httpx.Response, document: Any) -> BenchgateError:  # noqa: ANN401 - any JSON
    status = response.status_code
    message = f"the bug tracker answers {status}: {_reason(document) or plain(response.reason_phrase)}"
    name, rejected = _REJECTED
    if status < 400:  # noqa: PLR2004 - a redirect
        return Refused(f"the bug tracker answers {status}: a redirect, perhaps to a login page")
    if status == 401 or (status < 500 and rejected in response.headers.get(name, "")):  # noqa: PLR2004 - HTTP's
        return Refused(f"{message}; {_TOKEN}")
    if status == 403:  # noqa: PLR2004 - HTTP's own numbers
        return Forbidden(message)
    if status >= 500 or status in _PASSING:  # noqa: PLR2004 - HTTP's own numbers
        return Transient(message, _retry_after(response.headers.get("Retry-After")))
    if status == 404:  # noqa: PLR2004 - HTTP's own numbers
        # A proxy answers so while the tracker is down, and then the bug still exists.
        return NotFound(message) if document else Transient(f"{message} (not from the bug tracker)")
    return Permanent(message)


def _reason(document: Any) -> str:  # noqa: ANN401 - any JSON
    """Return the messages of an error; a page of HTML has none and is not quoted."""
    if document is None:
        return ""
    given, by_field = document.get("errorMessages"), document.get("errors")
    texts = [
        *(given if isinstance(given, list) else ()),
        *(by_field.values() if isinstance(by_field, dict) else ()),
    ]
    return plain("; ".join(each for each in texts if isinstance(each, str)), _LONGEST_REASON)


def _retry_after(value: str | None) -> float | None:
    """Parse the header; None unless it has seconds, as Jira sends it."""
    if value is None or not re.fullmatch(r"[0-9]{1,9}", value):
        return None
    return min(float(value), _LONGEST_WAIT)
