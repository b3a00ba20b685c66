"""Send artifacts to the control plane over HTTP, and get them from there; repeat what fails."""

from __future__ import annotations

import copy
import json
import math
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar

import httpx
import structlog
from typing_extensions import override

from service.adapters.building.compressed import CHUNK_BYTES, CompressedArtifacts, checked_key
from service.adapters.system.json_client import ERROR_BYTES, Bearer, checked_address, fault
from service.domain.values.errors import LeaseLost, Refused, Transient
from service.domain.values.text import plain
from service.ports.building import ARTIFACTS_HEADER

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from service.ports.building import ArtifactKind, Artifacts

# The lease of the build is renewed meanwhile. An upgrade of the control plane with a long migration takes
# minutes, and a build that is handed back only waits for the same server on another machine.
PATIENCE_SECONDS: Final = 300.0
_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 10.0
_WATCH_SECONDS: Final = 0.25  # as often as a sandbox asks
_ROTATION_SECONDS: Final = 1.0  # a shell empties the file before it writes the new token
# The server writes gigabytes to its disk before it answers.
_TIMEOUT: Final = httpx.Timeout(30.0, connect=5.0, read=120.0)
_SERVER: Final = "the control plane"
_PROBLEM: Final = "application/problem+json"
_NO_BUILD: Final = 409  # the answer to a machine that holds no build
_LOG = structlog.get_logger(__name__)
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class MachineToken:
    """The API token of a machine: in a file that is read for each request, so that it can be replaced."""

    machine: str
    file: Path


class HttpArtifacts(CompressedArtifacts):
    """Artifacts of one kind on the control plane; safe to use from several threads.

    An answer is read to its end, into a file, before any of it is decompressed.

    Args:
        url: the address of the control plane.
        token: of this machine.
        kind: which store.
        unfinished: a directory for files in transfer, on this machine.
        patience: seconds for which a request is repeated after it failed, and again after each attempt that
            got further than all before: a long transfer may be cut several times.
        transport: a replacement of the network.

    Raises:
        ValueError: the address cannot be used; the message does not repeat it.
    """

    def __init__(
        self,
        url: str,
        token: MachineToken,
        kind: ArtifactKind,
        unfinished: Path,
        *,
        patience: float = PATIENCE_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(unfinished)
        self._address = checked_address(url, _SERVER)
        self._root = f"{self._address}/api/v1/artifacts/{kind}/"
        self._machine, self._token_file = token.machine, token.file
        self._patience = patience
        self._watch: Callable[[], None] = _nothing
        # Not compressed once more on the way. No redirect is followed: it would get the token.
        self._client = httpx.Client(
            timeout=_TIMEOUT, headers={"Accept-Encoding": "identity"}, transport=transport
        )

    def check(self) -> None:
        """Ask once whether the control plane takes this machine's token.

        Raises:
            Refused: there is no token, it is not valid, or it is not that of this machine; or the address has
                a wrong path, or the control plane is an earlier version.
            Transient: nothing that could be a control plane answers.
        """

        def ask(_: _Progress) -> None:
            with suppress(LeaseLost):  # the token was accepted; the machine has no build
                self._ask("GET", "0" * 64)

        _translated(ask, _Progress())

    @override
    def watched(self, watch: Callable[[], None]) -> Artifacts:
        other = copy.copy(self)
        other._watch = watch  # noqa: SLF001 - of this class
        return other

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @override
    def _publish(self, unfinished: Path, key: str) -> None:
        def send(progress: _Progress) -> None:
            with unfinished.open("rb") as file:
                if os.fstat(file.fileno()).st_size > CHUNK_BYTES:
                    self._ask("HEAD", key)  # the answer to a refused body is often lost with its connection
                try:
                    with self._request("PUT", key, file) as response:
                        self._check(response)
                finally:
                    progress.bytes = file.tell()

        self._repeated(send)

    @override
    def _open(self, key: str) -> BinaryIO:
        return self._repeated(lambda progress: self._fetched(checked_key(key), progress))

    def _ask(self, method: str, key: str) -> None:
        """Raise what forbids a transfer; the artifact need not be there."""
        with self._request(method, key) as response:
            if response.status_code != 404 or not _is_of_route(response):  # noqa: PLR2004 - HTTP's own number
                self._check(response)

    def _fetched(self, key: str, progress: _Progress) -> BinaryIO:
        path = self._aside()
        file = path.open("x+b")
        try:
            path.unlink()  # the file ends with this process, whatever happens
            with self._request("GET", key) as response:
                self._check(response)
                for chunk in response.iter_bytes(CHUNK_BYTES):
                    file.write(chunk)
                    progress.bytes += len(chunk)
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return file

    def _request(
        self, method: str, key: str, body: BinaryIO | None = None
    ) -> AbstractContextManager[httpx.Response]:
        headers, query = {"Authorization": self._authorization()}, {"machine": self._machine}
        return self._client.stream(method, self._root + key, params=query, content=body, headers=headers)

    def _authorization(self) -> str:
        with suppress(OSError, ValueError):
            return self._read_token()
        self._wait(_ROTATION_SECONDS)
        try:
            return self._read_token()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", "") or "it has no token"
            raise Refused(f"BENCHGATE_MACHINE_TOKEN_FILE: {self._token_file}: {reason}") from None

    def _read_token(self) -> str:
        return Bearer(self._token_file.read_text(encoding="utf-8").strip()).authorization(_SERVER)

    def _check(self, response: httpx.Response) -> None:
        """Raise the error of a response without success, or from elsewhere than the routes of artifacts."""
        is_of_route, status = _is_of_route(response), response.status_code
        if is_of_route and response.is_success:
            return
        if not is_of_route and (response.is_success or (status == 404 and _is_own(response))):  # noqa: PLR2004
            raise Refused(self._why_elsewhere())
        text = b""
        for chunk in response.iter_bytes(ERROR_BYTES):
            text += chunk
            if len(text) >= ERROR_BYTES:
                break
        is_own, reason = _is_own(response), ""
        if is_own:
            with suppress(ValueError, TypeError, KeyError):
                reason = plain(str(json.loads(text)["detail"]), 500)
        if is_of_route and status == _NO_BUILD:
            raise LeaseLost(f"{_SERVER} answers that this machine has no build now")
        raise fault(response, _SERVER, reason, is_own=is_own)

    def _why_elsewhere(self) -> str:
        """Say what answers instead of the routes of artifacts."""
        health = self._client.get(f"{self._address}/healthz")
        with suppress(ValueError):
            if health.is_success and health.json() == {"status": "ok"}:
                return f"{_SERVER} is an earlier version, which has no artifacts over HTTP; upgrade it"
        address = plain(self._address, 200)
        return f"BENCHGATE_ARTIFACTS: {address} is not the address of {_SERVER}; is its path right?"

    def _repeated(self, attempt: Callable[[_Progress], _Answer]) -> _Answer:
        """Repeat until it succeeds; raise the last error when the patience ends, or what ``watch`` raises."""
        ends, wait, furthest = math.inf, _FIRST_WAIT, 0
        while True:
            progress = _Progress()
            try:
                return _translated(attempt, progress)
            except Refused:  # only an operator can help
                raise
            except Transient as error:
                now = time.monotonic()
                if ends == math.inf or progress.bytes >= furthest + CHUNK_BYTES:
                    ends, wait = now + self._patience, _FIRST_WAIT
                furthest = max(furthest, progress.bytes)
                pause = min(max(wait, error.retry_after or 0.0), _LONGEST_WAIT)
                if now + pause >= ends:
                    raise
                _LOG.warning("artifact.repeated", error=str(error), wait=pause)
                self._wait(pause)
                wait *= 2

    def _wait(self, seconds: float) -> None:
        """Let time pass, and ask ``watch`` meanwhile."""
        ends = time.monotonic() + seconds
        self._watch()
        while (left := ends - time.monotonic()) > 0:
            time.sleep(min(left, _WATCH_SECONDS))
            self._watch()


@dataclass(slots=True)
class _Progress:
    """The bytes that an attempt has sent or received."""

    bytes: int = 0


def _nothing() -> None:
    """Let every wait go on."""


def _translated(attempt: Callable[[_Progress], _Answer], progress: _Progress) -> _Answer:
    try:
        return attempt(progress)
    except httpx.HTTPError as error:
        reason = plain(str(error)) or type(error).__name__
        raise Transient(f"{_SERVER} cannot be reached: {reason}") from error


def _is_of_route(response: httpx.Response) -> bool:
    return ARTIFACTS_HEADER in response.headers


def _is_own(response: httpx.Response) -> bool:
    return bool(response.headers.get("Content-Type", "") == _PROBLEM)
