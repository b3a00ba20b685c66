"""Put the content of Git LFS files into a checkout, from a cache that all checkouts of this machine share."""

from __future__ import annotations

import hashlib
import json
import netrc
import os
import stat
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

import httpx

from service.adapters.sources.git.command import run_git
from service.adapters.system.eviction import mark_used
from service.adapters.system.locking import locked
from service.domain.sources.lfs import (
    BATCH,
    FILE_BYTES,
    MEDIA_TYPE,
    MOST_FILES,
    POINTER_BYTES,
    TOTAL_BYTES,
    LfsDownload,
    batch_request,
    is_excluded,
    read_batch,
    read_pointer,
    server_of_repository,
)
from service.domain.sources.submodules import SHOWN, address_to_fetch, may_mislead, redacted
from service.domain.values.errors import BadInput, ForeignSource, Incomplete, Transient
from service.domain.values.text import brief, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from service.adapters.sources.git.repository import Repository
    from service.domain.sources.allowed import AllowedSources
    from service.domain.sources.lfs import Pointer

_SETTINGS: Final = ".lfsconfig"
_ANSWER_BYTES: Final = 4 << 20  # of a batch; 100 signed addresses have about 200 KiB
_CHUNK: Final = 1 << 20
_PART: Final = ".part"
_MOST_REDIRECTS: Final = 3  # to the storage behind a server
_GONE: Final = frozenset({404, 410})
_TIMEOUT: Final = httpx.Timeout(30.0, connect=10.0)


class LfsObjects:
    """Cache of the objects of LFS servers: one folder per server, so that none answers for another.

    Args:
        root: the directory.
        allowed: the sources besides the project's own server.
        fetch_seconds: limit for the objects of one revision.
    """

    def __init__(self, root: Path, allowed: AllowedSources, fetch_seconds: float) -> None:
        self._root = root
        self._allowed = allowed
        self._fetch_seconds = fetch_seconds

    def fill(self, place: Path, outer: Repository, own: str, watch: Callable[[], None]) -> None:
        """Replace the pointer files of a checkout by their content.

        Args:
            place: the checkout of the whole project; the repository has a folder there.
            outer: the repository, with its marked paths.
            own: what the addresses of the project's own server begin with.
            watch: called for each piece of a file; may raise to end the work.

        Raises:
            Incomplete: a file cannot be had; says which one, and what to do.
            Transient: the server does not answer.
        """
        if not outer.marked:
            return
        excluded = _setting(outer, "lfs.fetchexclude")
        pointers = {
            path: pointer
            for path in outer.marked
            if not is_excluded(path, excluded) and (pointer := _pointer_at(place / outer.folder, path))
        }
        if not pointers:
            return
        _require_bounded(outer, pointers)
        objects = _Objects(self._root, self._allowed, outer, own, _Bounds(self._fetch_seconds, watch))
        objects.provide(pointers)
        for path, pointer in pointers.items():
            objects.write(pointer, place / outer.folder / path)


class _Bounds:
    """The time that the objects of one revision may take, and the watch that may end the work earlier."""

    def __init__(self, seconds: float, watch: Callable[[], None]) -> None:
        self.seconds = seconds
        self.watch = watch
        self._ends = time.monotonic() + seconds

    def of(self, response: httpx.Response, most: int) -> Iterator[bytes]:
        """Yield the bytes of a response; raises Transient if they are too many or too late."""
        size = 0
        # As they arrive: a slow server must not delay the check of the deadline.
        for piece in self.watched(response.iter_raw()):
            size += len(piece)
            if size > most:
                raise Transient(f"{plain(response.url.host)} sent more than {most} bytes")
            if time.monotonic() > self._ends:
                raise Transient(f"{plain(response.url.host)} took too long")
            yield piece

    def watched(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the pieces of a file, and call the watch for each."""
        for piece in pieces:
            self.watch()
            yield piece


@dataclass(frozen=True, slots=True)
class _Server:
    """An LFS server with the credentials of this machine, which no other server gets."""

    client: httpx.Client
    url: str
    auth: httpx.Auth | None

    def has(self, url: str) -> bool:
        """Return whether an address is one of this server."""
        return _origin(url) == _origin(self.url)


class _Objects:
    """The objects of one repository's server."""

    def __init__(
        self, root: Path, allowed: AllowedSources, outer: Repository, own: str, bounds: _Bounds
    ) -> None:
        self._allowed = allowed
        self._outer = outer
        self._own = own
        self._bounds = bounds
        self._named = _server_of_settings(outer) or server_of_repository(outer.url) or outer.url
        digest = hashlib.sha256(redacted(self._named).encode()).hexdigest()[:16]
        self._directory = root.absolute() / digest

    def provide(self, pointers: Mapping[str, Pointer]) -> None:
        """Download the objects that neither the user's clone nor the cache has.

        An address that is not allowed is refused even if the cache has its objects: another project may have
        fetched them from a server of its own.
        """
        foreign = {each.oid: (path, each) for path, each in pointers.items() if self._of_clone(each) is None}
        if not foreign:
            return
        server = self._server(*next(iter(foreign.values())))
        mark_used(self._directory)
        if not self._lacking(foreign.values()):
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        with locked(self._directory, self._bounds.seconds, self._bounds.watch):
            for unfinished in self._directory.glob(f"*{_PART}"):
                unfinished.unlink()  # of a killed process
            wanted = self._lacking(foreign.values())  # another process may have fetched them meanwhile
            try:
                with httpx.Client(timeout=_TIMEOUT, follow_redirects=False) as client:
                    asked = _Server(client, server, _credentials(server))
                    for first in range(0, len(wanted), BATCH):
                        self._download(asked, wanted[first : first + BATCH])
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                reason = plain(str(error)) or type(error).__name__
                raise Transient(f"LFS server {plain(redacted(server))}: {reason}") from error

    def write(self, pointer: Pointer, target: Path) -> None:
        """Replace the content of a pointer file by its object; the mode stays."""
        kept = self._of_clone(pointer) or self._directory / pointer.oid
        descriptor = os.open(target, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "wb") as file, kept.open("rb") as source:
            try:
                pieces = iter(lambda: source.read(_CHUNK), b"")
                _copy(self._bounds.watched(pieces), file, pointer, target.name)
            except Transient:
                if kept.parent == self._directory:
                    kept.unlink()  # damaged: the next attempt fetches it again
                raise

    def _of_clone(self, pointer: Pointer) -> Path | None:
        """Return the file of an object in the user's clone, or None if the clone does not have it."""
        for directory in self._outer.clone.directories if self._outer.clone else ():
            kept = directory / "lfs/objects" / pointer.oid[:2] / pointer.oid[2:4] / pointer.oid
            if kept.is_file():
                return kept
        return None

    def _lacking(self, wanted: Iterable[tuple[str, Pointer]]) -> list[tuple[str, Pointer]]:
        return [each for each in wanted if not (self._directory / each[1].oid).is_file()]

    def _server(self, path: str, pointer: Pointer) -> str:
        if not self._named.startswith(("https://", "http://")):
            why = "LFS files are fetched over https, and .lfsconfig names no such address as lfs.url"
            raise self._missing(path, pointer, why)
        try:
            return address_to_fetch(self._named, self._own, self._allowed).rstrip("/")
        except BadInput as error:
            raise self._missing(path, pointer, error.what, error) from None

    def _download(self, server: _Server, wanted: Sequence[tuple[str, Pointer]]) -> None:
        """Ask the server where some objects are, and download them."""
        headers = {"Accept": MEDIA_TYPE, "Content-Type": MEDIA_TYPE, "Accept-Encoding": "identity"}
        body = json.dumps(batch_request(pointer for _, pointer in wanted)).encode()
        where, name = f"{server.url}/objects/batch", plain(redacted(server.url))
        with server.client.stream("POST", where, content=body, headers=headers, auth=server.auth) as response:
            if response.status_code != httpx.codes.OK:
                raise Transient(f"LFS server {name}: it answers {response.status_code}")
            answer = b"".join(self._bounds.of(response, _ANSWER_BYTES))
        try:
            found = read_batch(json.loads(answer))
        except (ValueError, RecursionError):
            raise Transient(f"LFS server {name}: the answer is no JSON") from None
        for path, pointer in wanted:
            download = found.get(pointer.oid) or LfsDownload(error="nothing about the object")
            if download.error:
                why = f"the server answers: {plain(download.error)}; `git lfs push` may help"
                raise self._missing(path, pointer, why)
            self._follow(server, path, pointer, download)

    def _follow(self, server: _Server, path: str, pointer: Pointer, download: LfsDownload) -> None:
        """Download an object, and follow redirects to the storage of its server."""
        for _ in range(_MOST_REDIRECTS + 1):
            if not server.has(download.url):
                self._require_allowed(path, pointer, download)
            url = self._fetch(server, path, pointer, download)
            if not url:
                return
            is_same = _origin(url) == _origin(download.url)
            download = LfsDownload(url, download.headers if is_same else {})
        raise self._missing(path, pointer, f"its server redirects more than {_MOST_REDIRECTS} times")

    def _require_allowed(self, path: str, pointer: Pointer, download: LfsDownload) -> None:
        try:
            self._allowed.require(download.url.partition("?")[0])  # the rest is a signature
        except BadInput as error:
            raise self._missing(path, pointer, f"the server has it elsewhere; {error}", error) from None

    def _fetch(self, server: _Server, path: str, pointer: Pointer, download: LfsDownload) -> str:
        """Fetch an object; if the server redirects, return the new address instead, else an empty text."""
        has_own = any(name.lower() == "authorization" for name in download.headers)
        auth = server.auth if server.has(download.url) and not has_own else None
        # No compression: an unpacked response could be a thousand times longer than what was sent.
        headers = {**download.headers, "Accept-Encoding": "identity"}
        unfinished = self._directory / f"{pointer.oid}{_PART}"
        try:
            with (
                server.client.stream("GET", download.url, headers=headers, auth=auth) as response,
                unfinished.open("wb") as file,
            ):
                if response.has_redirect_location:
                    return str(response.url.join(response.headers["Location"]))
                if response.status_code in _GONE:
                    raise self._missing(path, pointer, f"the server answers {response.status_code}")
                if response.status_code != httpx.codes.OK:
                    where = f"{plain(response.url.host)} answers {response.status_code}"
                    raise Transient(f"LFS file {plain(path)}: {where}")
                _copy(self._bounds.of(response, pointer.size), file, pointer, path)
                file.flush()
                os.fsync(file.fileno())
            unfinished.rename(self._directory / pointer.oid)
            return ""
        finally:
            unfinished.unlink(missing_ok=True)

    def _missing(self, path: str, pointer: Pointer, why: str, error: BadInput | None = None) -> Incomplete:
        return Incomplete(
            f"LFS file {plain(_in_all(self._outer, path), SHOWN)}",
            f"object {pointer.oid[:12]} of {plain(redacted(self._named), SHOWN)}: {why}",
            is_foreign=isinstance(error, ForeignSource),
        )


def _setting(outer: Repository, name: str) -> str:
    """Return a setting of the revision's ``.lfsconfig``; empty if it has none."""
    blob = f"{outer.commit}:{_SETTINGS}"
    answer = run_git(outer.mirror, ("config", "--no-includes", "--blob", blob, "--get", name))
    return answer.line() if answer.code == 0 else ""


def _server_of_settings(outer: Repository) -> str:
    """Return the server that the revision's ``.lfsconfig`` names; empty if none.

    A patch set can write it, and the machine sends requests there with its credentials.
    """
    url = _setting(outer, "lfs.url")
    if url and may_mislead(url):
        raise Incomplete(_all_of(outer), f"{_SETTINGS} gives them the URL {brief(url)}, which is not allowed")
    return url


def _pointer_at(root: Path, path: str) -> Pointer | None:
    """Read a file of a checkout if it is a pointer; nothing is read through a link."""
    file = root / path
    # Unlike Path.resolve, it accepts a loop of links.
    if os.path.realpath(file.parent) != str(root.resolve().joinpath(*path.split("/")[:-1])):
        return None
    try:
        state = file.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(state.st_mode) or state.st_size > POINTER_BYTES:
        return None
    return read_pointer(file.read_bytes())


def _require_bounded(outer: Repository, pointers: Mapping[str, Pointer]) -> None:
    if len(pointers) > MOST_FILES:
        raise Incomplete(_all_of(outer), f"there are more than {MOST_FILES}")
    for path, pointer in pointers.items():
        if pointer.size > FILE_BYTES:
            large = f"LFS file {plain(_in_all(outer, path))}"
            raise Incomplete(large, f"it has more than {FILE_BYTES >> 30} GiB")
    if sum(each.size for each in pointers.values()) > TOTAL_BYTES:
        raise Incomplete(_all_of(outer), f"they have more than {TOTAL_BYTES >> 30} GiB")


def _copy(pieces: Iterator[bytes], file: IO[bytes], pointer: Pointer, name: str) -> None:
    """Copy an object; raises Transient unless it has its size and digest."""
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
        file.write(piece)
    if (size, digest.hexdigest()) != (pointer.size, pointer.oid):
        raise Transient(f"LFS file {plain(name)}: the content does not have the SHA-256 {pointer.oid[:12]}…")


def _credentials(server: str) -> httpx.Auth | None:
    """Return the credentials for a server: those of its URL, else of ``~/.netrc``, as git does."""
    url = httpx.URL(server)
    if url.username:
        return httpx.BasicAuth(url.username, url.password)
    try:
        found = netrc.netrc().authenticators(url.host)
    except (OSError, netrc.NetrcParseError):
        return None
    return httpx.BasicAuth(found[0], found[2]) if found else None


def _origin(url: str) -> tuple[str, str, int | None]:
    found = httpx.URL(url)
    return found.scheme, found.host, found.port


def _all_of(outer: Repository) -> str:
    return f"LFS files of {plain(outer.folder)}" if outer.folder else "LFS files"


def _in_all(outer: Repository, path: str) -> str:
    return f"{outer.folder}/{path}".lstrip("/")
