"""Asks Gerrit over HTTP as one account: JSON comes back, or one of our errors."""

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

from service.domain.errors import NotFound, Permanent, Refused, Transient
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.errors import BenchgateError

MAX_BYTES: Final = 8 << 20
_SHOWN_BYTES: Final = 4 << 10  # of a fault; its sentence is far shorter
_LONGEST_WAIT: Final = 3600.0  # seconds; an address line that asks for more is not obeyed to the letter
_GUARD: Final = b")]}'"  # opens every JSON answer of Gerrit, and nothing else
_BY_A_PROXY: Final = (b"404 ", b"default backend")  # in plain text too: of Go programs, of Kubernetes
_PASSING: Final = frozenset({408, 425, 429, 499})  # too slow, too early, too many, or given up on by Gerrit
_HEADER_TEXT: Final = re.compile(r"[!-~]+")


class Forbidden(Refused):
    """This account may not do that; it may well do something else."""


class Overlong(Transient):
    """An answer is longer than what we are ready to hold."""


@dataclass(frozen=True, slots=True)
class Password:
    """An HTTP password, or what replaces it in newer servers: an authentication token of the account."""

    username: str
    secret: str = field(repr=False)

    def authorization(self) -> str:
        """The value of the header.

        Raises:
            ValueError: the name cannot be told from the secret; neither is shown.
        """
        if not self.username or ":" in self.username:
            raise ValueError("a Gerrit user name is not empty and holds no colon")
        return "Basic " + base64.b64encode(f"{self.username}:{self.secret}".encode()).decode()


@dataclass(frozen=True, slots=True)
class Bearer:
    """A token of the identity provider to which the server leaves its sign-in."""

    secret: str = field(repr=False)

    def authorization(self) -> str:
        """The value of the header.

        Raises:
            ValueError: the token cannot be sent; it is not shown.
        """
        if not _HEADER_TEXT.fullmatch(self.secret):
            raise ValueError("a bearer token holds printable ASCII characters only, and no blanks")
        return f"Bearer {self.secret}"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait, in seconds: for a connection, for the next byte, for the whole answer."""

    connect: float = 5.0
    silence: float = 30.0
    whole: float = 120.0


PATIENT: Final = Timeouts()


class Connection:
    """One client a process, made when first needed: one socket on both sides of a fork would mix up answers.

    Args:
        url: where Gerrit lives, with a path where it has one.
        credentials: who asks.
        timeouts: how long to wait.
        transport: what carries the requests, in place of the network.

    Raises:
        ValueError: the address or the credentials cannot be used; no secret is shown.
    """

    def __init__(
        self,
        url: str,
        credentials: Password | Bearer,
        timeouts: Timeouts = PATIENT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._root = f"{_checked(url)}/a/"
        self._authorization = credentials.authorization()
        self._timeouts = timeouts
        self._transport = transport
        self._held: tuple[int, httpx.Client] | None = None

    def get(self, path: str, query: str = "") -> Any:  # noqa: ANN401 - JSON is whatever came
        """What Gerrit answers; ``path`` and ``query`` are quoted already.

        Raises:
            Refused: the credentials are not accepted (Forbidden: not for this).
            NotFound: there is no such thing, or it is not visible to us.
            Permanent: any other fault of the request, in Gerrit's words.
            Transient: no answer, an overlong one (Overlong), or none of Gerrit's.
        """
        url = f"{self._root}{path}?{query}" if query else self._root + path
        return _parsed(self._answer("GET", url, None)[1])

    def post(self, path: str, body: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as above
        """What Gerrit answers; raises as ``get``. After Transient it may have been applied or not."""
        # Escaped beyond ASCII: text with half a surrogate pair has no UTF-8.
        return _parsed(self._answer("POST", self._root + path, json.dumps(body).encode())[1])

    def now(self) -> datetime:
        """The server's clock, from the head of an answer; raises as ``get``."""
        head, body = self._answer("GET", self._root + "accounts/self", None)
        _parsed(body)  # else what answers is not Gerrit
        moment = _moment(head.get("Date", ""))
        if moment is None:
            raise Transient("Gerrit's answer does not say when it was given")
        return moment

    def close(self) -> None:
        """Give the connections up; the next request makes new ones."""
        held, self._held = self._held, None
        if held is not None and held[0] == os.getpid():
            held[1].close()

    def _client(self) -> httpx.Client:
        held = self._held
        if held is None or held[0] != os.getpid():
            # One that was inherited is dropped unclosed: its conversations are the parent's.
            held = self._held = (os.getpid(), self._made())
        return held[1]

    def _made(self) -> httpx.Client:
        wait = self._timeouts
        return httpx.Client(
            headers={"Authorization": self._authorization, "Accept": "application/json"},
            timeout=httpx.Timeout(wait.silence, connect=wait.connect),
            transport=self._transport,
            follow_redirects=False,
        )

    def _answer(self, method: str, url: str, body: bytes | None) -> tuple[httpx.Headers, bytes]:
        ends = time.monotonic() + self._timeouts.whole
        headers = {} if body is None else {"Content-Type": "application/json; charset=utf-8"}
        try:
            with self._client().stream(method, url, content=body, headers=headers) as response:
                data = _read(response, ends)
        except httpx.InvalidURL as error:
            raise Permanent(f"Gerrit cannot be asked that: {plain(str(error))}") from error
        except httpx.HTTPError as error:
            raise Transient(f"Gerrit cannot be reached: {_described(error)}") from error
        if not response.is_success:
            raise _fault(response, data)
        return response.headers, data


def _checked(url: str) -> str:
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        raise ValueError("the address of Gerrit is not one") from None
    if parts.scheme not in {"http", "https"} or not parts.host:
        raise ValueError("the address of Gerrit begins with https:// (or http://) and names a host")
    if parts.userinfo or parts.query or parts.fragment:
        raise ValueError("the address of Gerrit holds no credentials, query or fragment")
    return url.rstrip("/?#")


def _read(response: httpx.Response, ends: float) -> bytes:
    """The body, as far as it is needed: whole where it is an answer, its beginning where it is a fault."""
    kept = bytearray()
    for chunk in response.iter_bytes():
        kept += chunk
        if not response.is_success and len(kept) >= _SHOWN_BYTES:
            break
        if len(kept) > MAX_BYTES:
            raise Overlong(f"Gerrit's answer is longer than {MAX_BYTES >> 20} MiB")
        if time.monotonic() > ends:
            raise Transient("Gerrit's answer did not end in time")
    return bytes(kept)


def _described(error: httpx.HTTPError) -> str:
    return plain(str(error)) or type(error).__name__


def _fault(response: httpx.Response, data: bytes) -> BenchgateError:
    status = response.status_code
    said = f"Gerrit answers {status}: {_sentence(response, data)}"
    if status < 400:  # noqa: PLR2004 - a redirect
        return Refused(f"Gerrit answers {status}: it redirects to a login page?")
    if status in {401, 403}:
        return Forbidden(said) if status == 403 else Refused(said)  # noqa: PLR2004 - HTTP's own numbers
    if status >= 500 or status in _PASSING:  # noqa: PLR2004 - HTTP's own numbers
        return Transient(said, _retry_after(response.headers.get("Retry-After")))
    if status == 404:  # noqa: PLR2004 - HTTP's own numbers
        # A proxy says so while Gerrit is away; a change must not count as gone for that.
        is_own = _is_gerrits(response) and not data.startswith(_BY_A_PROXY)
        return NotFound(said) if is_own else Transient(f"{said} (not in Gerrit's own words)")
    return Permanent(said)


def _sentence(response: httpx.Response, data: bytes) -> str:
    """What Gerrit says; a page comes from something in between and is not quoted."""
    text = plain(data[:_SHOWN_BYTES].decode(errors="replace")) if _is_gerrits(response) else ""
    return text or plain(response.reason_phrase)


def _is_gerrits(response: httpx.Response) -> bool:
    """Whether a fault is told by Gerrit itself: in plain text, not by a page."""
    return bool(response.headers.get("Content-Type", "").startswith("text/plain"))


def _retry_after(value: str | None) -> float | None:
    """The seconds that the header asks for, given as such or as a date; None where it says nothing."""
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
    # A date of HTTP without a zone is in UTC.
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parsed(data: bytes) -> Any:  # noqa: ANN401 - JSON is whatever came
    if not data.startswith(_GUARD):
        raise Transient("what answers is not Gerrit: is its address right, or is a proxy in between?")
    try:
        return json.loads(data[len(_GUARD) :])
    except (ValueError, RecursionError) as error:
        raise Transient("Gerrit's answer is no JSON that can be read") from error
