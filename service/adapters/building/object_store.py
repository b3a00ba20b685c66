"""Store artifacts in a bucket of S3, Google Cloud Storage or Azure, under the names that a directory has."""

from __future__ import annotations

import os
import re
import secrets
import time
from contextlib import contextmanager, suppress
from datetime import timedelta
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, BinaryIO, Final

import obstore
from obstore import exceptions
from obstore.store import from_url
from typing_extensions import override

from service.adapters.building.compressed import (
    CHUNK_BYTES,
    MARK,
    STALE_SECONDS,
    CompressedArtifacts,
    IncomingFile,
    checked_key,
    place_of,
)
from service.domain.values.errors import BenchgateError, NotFound, Refused, Transient
from service.domain.values.text import plain
from service.ports.building import ArtifactStore, IncomingArtifact, KeptArtifact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from obstore import GetOptions, ObjectMeta
    from obstore.store import ObjectStore
    from typing_extensions import Buffer

_PART_BYTES: Final = 8 << 20  # in a request: S3 takes 10,000 parts, and 9 GiB have 1,152
_UPLOADS: Final = 4  # parts of one artifact at once, all in memory
# A machine waits two minutes for the answer to what it sent, and repeats it for five.
_REQUEST_SECONDS: Final = timedelta(seconds=60)  # a part, or the answer to a question
_CONNECT_SECONDS: Final = timedelta(seconds=5)
_RETRY_SECONDS: Final = timedelta(seconds=20)
_RETRIES: Final = 3
_DELETION_SECONDS: Final = 300.0  # the requests of a deletion, with all their repetitions, end within it
_DECISION_SECONDS: Final = 60.0  # from the note of a deletion to its request
_POLL_SECONDS: Final = 0.2
_ATTEMPTS: Final = 3  # to store one artifact while it is deleted
_NOTES: Final = "deleting"  # has a folder for each key, and in it a note of each process that deletes it
_NAME: Final = re.compile(r"([0-9a-f]{2})/([0-9a-f]{2})/(\1\2[0-9a-f]{60})\.gz")
_NO_BUCKET: Final = re.compile(r"NoSuchBucket|ContainerNotFound|bucket does not exist", re.IGNORECASE)
_ANSWER: Final = re.compile(r"status code: (\d{3})")
_CODE: Final = re.compile(r"<Code>(\w{1,60})</Code>")
_CAUSE: Final = re.compile(r'(?:message|error): "([^"\\]{1,200})"')
_PLAIN_HTTP: Final = "BadScheme"
# Where a client without keys asks for those of its role.
_NO_CREDENTIALS: Final = re.compile(r"//(169\.254\.|metadata\.)|/latest/api/token")
_PROVIDERS: Final = re.compile(r"(AWS|AZURE|GOOGLE)_\w+")
# They become a part of requests. The client panics at some that cannot; files and JSON may have spaces.
_IN_REQUESTS: Final = re.compile(r"(AWS|AZURE)_\w*(ID|KEY|TOKEN|SECRET|REGION|NAME)")
_ENDPOINTS: Final = re.compile(r"AWS_ENDPOINT(_URL\w*)?|AWS_METADATA_ENDPOINT|AZURE_(STORAGE_|MSI_)?ENDPOINT")
_ADDRESS: Final = re.compile(
    r"https?://([!-.0-~]+@)?(\[[\da-f:.]+]|[\w.-]+)(:\d{1,5})?(/[!-~]*)?", re.ASCII | re.IGNORECASE
)
_SHORTEST_HIDDEN: Final = 5  # characters; "true" and "1" are no secrets, and words of errors


class ObjectArtifacts(CompressedArtifacts, ArtifactStore):
    """Artifacts in a bucket that any number of processes and hosts may share.

    An artifact is compressed, or received and checked, in a file of this host before its upload begins, and
    nobody can read an upload that is not complete. A process that forks must not use it before.

    Args:
        store: the bucket, and the beginning of all names in it.
        place: its address in messages.
        unfinished: a directory for files that are not complete, on this host.
    """

    def __init__(self, store: ObjectStore, place: str, unfinished: Path) -> None:
        super().__init__(unfinished)
        self._store = store
        self._place = place

    @override
    def delete(self, key: str, stored_before: float) -> bool:
        place, note = place_of(key), f"{_NOTES}/{key}/{secrets.token_hex(8)}"
        with self._translated(f"artifact {key}"):
            # No server deletes an object on condition that it is old. A process that stores it again waits
            # for the note, and removes one that is too old: then this process was stopped, and gives up.
            began = time.monotonic()
            obstore.put(self._store, note, b"deleting")
            stored, noted = self._stored_at(place), self._stored_at(note)
            is_old = stored and noted and noted - stored >= stored_before  # by the clock of the bucket
            if is_old and time.monotonic() - began < _DECISION_SECONDS:
                self._remove(place)
                stored = None
            self._remove(note)  # not after an error: the server may still delete the object
        return stored is None

    @override
    def listed(self, prefix: str) -> Iterator[KeptArtifact]:
        with self._translated("the notes of deletions"):  # some of killed processes
            for note, noted in self._times(_NOTES).items():
                if noted < time.time() - STALE_SECONDS:
                    self._remove(note)
        for place in _folders(prefix):
            with self._translated("the list of artifacts"):
                for each in (each for batch in obstore.list(self._store, place) for each in batch):
                    named = _NAME.fullmatch(each["path"])
                    if named and named[3].startswith(prefix):
                        yield KeptArtifact(named[3], each["last_modified"].timestamp(), each["size"])

    @override
    def mark(self, site: str) -> None:
        with self._translated(MARK):
            obstore.put(self._store, MARK, site.encode())

    @override
    def marked(self) -> str:
        try:
            with self._translated(MARK):
                found = bytes(obstore.get(self._store, MARK).bytes())
        except NotFound:
            return ""
        return found.decode(errors="replace").strip()

    @override
    def receive(self, key: str) -> IncomingArtifact:
        return IncomingFile(checked_key(key), self._aside(), self._publish)

    @override
    def packed(self, key: str) -> BinaryIO:
        return self._open(key)

    @override
    def _open(self, key: str) -> BinaryIO:
        place, what = place_of(key), f"artifact {key}"
        with self._translated(what):
            facts = self._facts(place)

        def read(start: int, end: int) -> Buffer:
            options: GetOptions = {"range": (start, end)}
            if tag := facts["e_tag"]:
                options["if_match"] = tag
            with self._translated(what):
                return obstore.get(self._store, place, options=options).bytes()

        return BufferedReader(_Ranges(facts["size"], read), CHUNK_BYTES)

    def _facts(self, place: str) -> ObjectMeta:
        try:
            return obstore.head(self._store, place)
        except FileNotFoundError:  # the bucket may be missing: only an answer with a body says so
            return obstore.get(self._store, place, options={"range": (0, 1)}).meta

    @override
    def _publish(self, unfinished: Path, key: str) -> None:
        """Upload a complete file, also over one that is there: that may be damaged, or old enough to go."""
        place = place_of(key)
        with self._translated(f"artifact {key}"):
            for _ in range(_ATTEMPTS):
                obstore.put(self._store, place, unfinished, chunk_size=_PART_BYTES, max_concurrency=_UPLOADS)
                if self._outlasts_deletions(key, place):
                    return
        raise Transient(f"{self._place}: artifact {key} was deleted each time it was stored")

    def _outlasts_deletions(self, key: str, place: str) -> bool:
        """Wait for deletions that may have seen an older object; return whether the new one is there."""
        began, stored = time.monotonic(), None
        while notes := self._times(f"{_NOTES}/{key}"):
            stored = stored or self._stored_at(place)
            if stored is None:
                return False
            now = stored + time.monotonic() - began  # by the clock of the bucket, or earlier
            expired = [note for note, noted in notes.items() if now - noted >= _DELETION_SECONDS]
            for note in expired:
                self._remove(note)
            if not expired:
                time.sleep(_POLL_SECONDS)
        return self._stored_at(place) is not None

    def _times(self, folder: str) -> dict[str, float]:
        """Return when each object of a folder was stored."""
        listed = (each for batch in obstore.list(self._store, folder) for each in batch)
        return {each["path"]: each["last_modified"].timestamp() for each in listed}

    def _stored_at(self, place: str) -> float | None:
        """Return when an object was stored by the clock of the bucket; None if it is missing."""
        try:
            return obstore.head(self._store, place)["last_modified"].timestamp()
        except FileNotFoundError:
            return None

    def _remove(self, place: str) -> None:
        with suppress(FileNotFoundError):  # Azure's answer if it is missing
            obstore.delete(self._store, place)

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        """Raise errors of requests as Benchgate's own; theirs may repeat a signed address."""
        try:
            yield
        except (FileNotFoundError, exceptions.BaseError) as error:
            raise self._fault(error, what) from None
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # which has no module to import it from
                raise
            raise Refused(f"{self._place}: {what}: the client of the bucket cannot work with it") from None

    def _fault(self, error: Exception, what: str) -> BenchgateError:
        text, where = str(error), f"{self._place}: {what}"
        if _NO_BUCKET.search(text):
            return Refused(f"{self._place}: there is no such bucket")
        if _PLAIN_HTTP in text:
            return Refused(f"{self._place}: an endpoint with http:// needs AWS_ALLOW_HTTP=true")
        if isinstance(error, FileNotFoundError):
            return NotFound(f"{where} does not exist")
        lacks_credentials = _NO_CREDENTIALS.search(text.partition("<")[0])  # not the body of an answer
        if lacks_credentials or _ANSWER.findall(text)[:1] in (["401"], ["403"]):
            why = "no credentials were found" if lacks_credentials else "access is denied"
            return Refused(f"{where}: {why} ({_reason(text)})")
        if isinstance(error, exceptions.PreconditionError):
            return Transient(f"{where} was stored again while it was read")
        return Transient(f"{where}: {_reason(text)}")


class _Ranges(RawIOBase):
    """An object that is read in ranges, so that a slow reader keeps no connection open."""

    def __init__(self, size: int, read: Callable[[int, int], Buffer]) -> None:
        self._size = size
        self._read = read
        self._position = 0
        self._range, self._begin = memoryview(b""), 0

    @override
    def readable(self) -> bool:
        return True

    @override
    def seekable(self) -> bool:
        return True

    @override
    def seek(self, offset: int, whence: int = 0, /) -> int:
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    @override
    def readinto(self, buffer: Buffer, /) -> int:
        if self._position >= self._size:
            return 0
        if not 0 <= self._position - self._begin < len(self._range):
            end = min(self._position + _PART_BYTES, self._size)
            self._range, self._begin = memoryview(self._read(self._position, end)), self._position
            if len(self._range) != end - self._begin:
                raise Transient("the answer to a request has another length than was asked for")
        target, offset = memoryview(buffer), self._position - self._begin
        chunk = self._range[offset : offset + len(target)]
        target[: len(chunk)] = chunk
        self._position += len(chunk)
        return len(chunk)


def open_bucket(url: str, unfinished: Path, *, may_use_http: bool = False) -> ObjectArtifacts:
    """Return the artifacts below an address such as ``s3://bucket/prefix``; asks no server.

    Credentials, region and endpoint are those of the provider's environment variables; ``may_use_http``: the
    endpoint may have no TLS.

    Raises:
        ValueError: the address or these variables cannot be used; the message does not repeat them.
    """
    _check_variables()
    try:
        store = from_url(
            url,
            client_options={
                "allow_http": may_use_http,
                "connect_timeout": _CONNECT_SECONDS,
                "timeout": _REQUEST_SECONDS,
            },
            retry_config={"max_retries": _RETRIES, "retry_timeout": _RETRY_SECONDS},
        )
    except exceptions.BaseError as error:
        reason = _without_values(str(error)).partition("\n")[0].partition(" error: ")[2]
        raise ValueError(f"the bucket cannot be used: {plain(reason, 200)}") from None
    return ObjectArtifacts(store, url, unfinished)


def _check_variables() -> None:
    """Raise ValueError for a variable at which the client would panic."""
    for name, value in os.environ.items():
        if _ENDPOINTS.fullmatch(name) and not _ADDRESS.fullmatch(value):
            raise ValueError(f"{name} must be like https://host:port, or unset")
        if _IN_REQUESTS.fullmatch(name) and not re.fullmatch("[!-~]*", value):
            raise ValueError(f"{name} has a space, a line break or a character beyond ASCII")


def _without_values(text: str) -> str:
    """Replace what providers' variables contain, which may be secret, by their names."""
    for name, value in sorted(os.environ.items(), key=lambda each: -len(each[1])):
        if _PROVIDERS.fullmatch(name) and len(value) >= _SHORTEST_HIDDEN:
            text = text.replace(value, name)
    return text


def _folders(prefix: str) -> tuple[str | None, ...]:
    """Return the places to list: a server lists what has whole parts of a name in common."""
    if len(prefix) == 1:
        return tuple(f"{prefix}{digit:x}" for digit in range(16))
    return (prefix[:2] or None,)


def _reason(text: str) -> str:
    """Return what an error says of status and cause, without addresses and bodies."""
    found = [*_ANSWER.findall(text)[:1], *_CODE.findall(text)[:1], *_CAUSE.findall(text)[-1:]]
    return plain(", ".join(found), 300) or "it does not answer"
