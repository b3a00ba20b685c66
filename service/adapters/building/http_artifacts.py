"""Send artifacts to the control plane over HTTP, and get them from there; repeat what fails."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar

import httpx
import structlog
from typing_extensions import override

from service.adapters.building.compressed import CHUNK_BYTES, CompressedArtifacts, checked_key
from service.adapters.system.json_client import ERROR_BYTES, Bearer, fault
from service.domain.values.errors import Permanent, Refused, Transient
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from service.ports.building import ArtifactKind

# The lease of the build is renewed meanwhile. An upgrade of the control plane with a long migration takes
# minutes, and a build that is handed back only waits for the same server on another machine.
PATIENCE_SECONDS: Final = 300.0
_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 10.0
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
        patience: seconds for which a request is repeated while the control plane does not answer.
        transport: a replacement of the network.
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
        self._root = f"{url.rstrip('/')}/api/v1/artifacts/{kind}/"
        self._machine, self._token_file = token.machine, token.file
        self._patience = patience
        # Not compressed once more on the way. No redirect is followed: it would get the token.
        self._client = httpx.Client(
            timeout=_TIMEOUT, headers={"Accept-Encoding": "identity"}, transport=transport
        )

    def check(self) -> None:
        """Ask once whether the control plane takes this machine's token.

        Raises:
            Refused: there is no token, it is not valid, or it is not that of this machine.
            Transient, Permanent: the address is not that of a control plane.
        """

        def ask() -> None:
            with self._request("GET", "0" * 64) as response:
                # Its own error, not that of a proxy: the token was accepted.
                if response.is_success:
                    raise Permanent(f"{plain(self._root, 200)} is not the address of a control plane")
                if response.status_code not in {404, _NO_BUILD} or not _is_own(response):
                    self._check(response)

        _translated(ask)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @override
    def _publish(self, unfinished: Path, key: str) -> None:
        def send() -> None:
            with unfinished.open("rb") as file, self._request("PUT", key, file) as response:
                self._check(response)

        self._repeated(send)

    @override
    def _open(self, key: str) -> BinaryIO:
        return self._repeated(lambda: self._fetched(checked_key(key)))

    def _fetched(self, key: str) -> BinaryIO:
        path = self._aside()
        file = path.open("x+b")
        try:
            path.unlink()  # the file ends with this process, whatever happens
            with self._request("GET", key) as response:
                self._check(response)
                for chunk in response.iter_bytes(CHUNK_BYTES):
                    file.write(chunk)
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
        try:
            return Bearer(self._token_file.read_text(encoding="utf-8").strip()).authorization(_SERVER)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", "") or "it has no token"
            raise Refused(f"BENCHGATE_MACHINE_TOKEN_FILE: {self._token_file}: {reason}") from None

    def _check(self, response: httpx.Response) -> None:
        """Raise the error of a response without success."""
        if response.is_success:
            return
        text = b""
        for chunk in response.iter_bytes(ERROR_BYTES):
            text += chunk
            if len(text) >= ERROR_BYTES:
                break
        is_own, reason = _is_own(response), ""
        if is_own:
            with suppress(ValueError, TypeError, KeyError):
                reason = plain(str(json.loads(text)["detail"]), 500)
        raise fault(response, _SERVER, reason, is_own=is_own)

    def _repeated(self, attempt: Callable[[], _Answer]) -> _Answer:
        """Repeat until it succeeds; raise the last error once the patience is over."""
        ends, wait = time.monotonic() + self._patience, _FIRST_WAIT
        while True:
            try:
                return _translated(attempt)
            except Refused:  # only an operator can help
                raise
            except Transient as error:
                pause = min(max(wait, error.retry_after or 0.0), _LONGEST_WAIT)
                if time.monotonic() + pause >= ends:
                    raise
                _LOG.warning("artifact.repeated", error=str(error), wait=pause)
                time.sleep(pause)
                wait *= 2


def _translated(attempt: Callable[[], _Answer]) -> _Answer:
    try:
        return attempt()
    except httpx.HTTPError as error:
        reason = plain(str(error)) or type(error).__name__
        raise Transient(f"{_SERVER} cannot be reached: {reason}") from error


def _is_own(response: httpx.Response) -> bool:
    return bool(response.headers.get("Content-Type", "") == _PROBLEM)
