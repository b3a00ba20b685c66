"""Download single files from allowed sources, bounded in size and time."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import httpx

from service.domain.values.errors import BadInput, Transient
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from service.domain.sources.allowed import AllowedSources

MOST_BYTES: Final = 1 << 30  # the largest archives of libraries have a quarter of this
MOST_REDIRECTS: Final = 5
_SECONDS: Final = 1200.0  # as a fetch of a large repository over a slow line
_TIMEOUT: Final = httpx.Timeout(30.0, connect=10.0)
_PASSING: Final = frozenset({408, 425, 429})  # too slow, too early, too many
_CHUNK: Final = 1 << 20


def download(
    url: str,
    sha256: str,
    into: Path,
    allowed: AllowedSources,
    watch: Callable[[], None],
    *,
    most_bytes: int = MOST_BYTES,
) -> None:
    """Download a URL to a new file, and check its digest.

    Args:
        url: that of the project file.
        sha256: 64 hexadecimal digits.
        into: the new file; it may have wrong or incomplete content if this raises.
        allowed: decides about the URL and about each redirect.
        watch: called for each piece of the file; may raise to end the work.
        most_bytes: bound of the file.

    Raises:
        BadInput: the URL or a redirect is not allowed, there is no such file, or it has another digest.
        Transient: the server does not answer, or not in time.
    """
    allowed.require(url)
    pieces = _of_file(url) if url.startswith("file:") else _of_server(url, allowed)
    write_bounded(pieces, url, sha256, into, watch, most_bytes)


def write_bounded(
    pieces: Iterable[bytes],
    url: str,
    sha256: str,
    into: Path,
    watch: Callable[[], None],
    most_bytes: int,
) -> None:
    """Write the pieces of the file at a URL, as :func:`download` does."""
    digest, size, ends = hashlib.sha256(), 0, time.monotonic() + _SECONDS
    with into.open("xb") as file:
        for piece in pieces:
            watch()
            size += len(piece)
            if size > most_bytes:
                raise BadInput(f"larger than {most_bytes >> 20} MiB", plain(url))
            if time.monotonic() > ends:
                raise Transient(f"{plain(url)}: the download took longer than {_SECONDS / 60:.0f} minutes")
            digest.update(piece)
            file.write(piece)
    if digest.hexdigest() != sha256:
        raise BadInput(f"the file has the SHA-256 {digest.hexdigest()}, not {sha256}", plain(url))


def _of_file(url: str) -> Iterator[bytes]:
    path = Path(unquote(urlsplit(url).path))
    if not path.is_file():
        raise BadInput("there is no such file on this machine", plain(url))
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            yield piece


def _of_server(url: str, allowed: AllowedSources) -> Iterator[bytes]:
    """Follow redirects to allowed sources, and yield the bytes as the server stores them."""
    # No compression on the way: an unpacked response could be a thousand times longer than what was sent.
    headers = {"Accept-Encoding": "identity"}
    first = url
    try:
        with httpx.Client(timeout=_TIMEOUT, headers=headers, follow_redirects=False) as client:
            for _ in range(MOST_REDIRECTS + 1):
                with client.stream("GET", url) as response:
                    if not response.has_redirect_location:
                        _check(response, url)
                        # As they arrive: a slow server must not delay the check of the deadline.
                        yield from response.iter_raw()
                        return
                    url = str(response.url.join(response.headers["Location"]))
                try:
                    allowed.require(url)
                except BadInput as error:
                    raise BadInput(f"redirects to {error}", plain(first)) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = plain(str(error)) or type(error).__name__
        raise Transient(f"{plain(url)} cannot be fetched: {reason}") from error
    raise BadInput(f"more than {MOST_REDIRECTS} redirects", plain(first))


def _check(response: httpx.Response, url: str) -> None:
    status = response.status_code
    if status >= 500 or status in _PASSING:  # noqa: PLR2004 - HTTP's own numbers
        raise Transient(f"{plain(url)}: the server answers {status}")
    if status != httpx.codes.OK:
        raise BadInput(f"the server answers {status}", plain(url))
