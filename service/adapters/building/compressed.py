"""Compress artifacts, and return the bytes of a compressed one only if they are those of its key."""

from __future__ import annotations

import gzip
import hashlib
import re
import secrets
import time
import zlib
from abc import abstractmethod
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, Final

from typing_extensions import override

from service.adapters.system.untrusted_file import open_output
from service.domain.measuring.pair_record import RECORD_BYTES
from service.domain.values.errors import OUT_OF_ROOM, BadInput, DiskFull, NotFound, Permanent, Transient
from service.ports.building import LARGEST_ARTIFACT, Artifacts, IncomingArtifact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LEVEL: Final = 6  # higher levels hardly make programs smaller, and take three times as long
STALE_SECONDS: Final = 24 * 3600.0  # no write pauses that long
CHUNK_BYTES: Final = 1 << 20
MARK: Final = ".benchgate-site"  # has the ID of the site whose artifacts lie beside it
SUFFIX: Final = ".gz"
_GZIP: Final = 16 + zlib.MAX_WBITS
_KEY: Final = re.compile(r"[0-9a-f]{64}")


class Damaged(Exception):
    """Compressed bytes are not those of their key; says why."""


class Inflation:
    """Decompress one gzip stream in pieces, with bounded memory, and check its digest.

    Args:
        key: the SHA-256 of the original bytes.
        at_most: how many original bytes there may be; None: any number.
    """

    def __init__(self, key: str, at_most: int | None = None) -> None:
        self._key = key
        self._at_most = at_most
        self._stream = zlib.decompressobj(_GZIP)
        self._digest = hashlib.sha256()
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the original bytes of a piece in chunks; raises Damaged as soon as one is wrong."""
        while data:
            if self._stream.eof:
                raise Damaged("there are bytes after its end")
            try:
                chunk = self._stream.decompress(data, CHUNK_BYTES)
            except zlib.error as error:
                raise Damaged(str(error)) from error
            data = self._stream.unconsumed_tail or self._stream.unused_data
            if chunk:
                self._size += len(chunk)
                if self._at_most is not None and self._size > self._at_most:
                    raise Damaged(f"it unpacks to more than {self._at_most >> 20} MiB")
                self._digest.update(chunk)
                yield chunk

    def finish(self) -> None:
        """Raise Damaged unless the stream is complete and has the digest."""
        if not self._stream.eof:
            raise Damaged("it is incomplete")
        if self._digest.hexdigest() != self._key:
            raise Damaged(f"its bytes are those of {self._digest.hexdigest()}")


class CompressedArtifacts(Artifacts):
    """Artifacts that are kept as gzip files somewhere; a subclass knows where.

    Each read checks the bytes against their key.

    Args:
        unfinished: a directory for files that are not complete, which belongs to this program; created if it
            is missing. Files that killed processes left there are removed.
    """

    def __init__(self, unfinished: Path) -> None:
        self._unfinished = unfinished
        with translated(str(unfinished)):
            unfinished.mkdir(parents=True, exist_ok=True)
            self._remove_stale()

    @override
    def watched(self, watch: Callable[[], None]) -> Artifacts:
        return self  # a directory makes nobody wait

    @override
    def put(self, data: bytes) -> str:
        return self._keep(BytesIO(data))

    @override
    def put_file(self, path: Path) -> str:
        with open_output(path) as source:
            return self._keep(source)

    @override
    def get(self, key: str, *, at_most: int = RECORD_BYTES) -> bytes:
        collected = BytesIO()
        for chunk in self.stream(key):
            if collected.tell() + len(chunk) > at_most:
                raise BadInput(f"larger than {at_most} bytes", f"artifact {key}")
            collected.write(chunk)
        return collected.getvalue()

    @override
    def stream(self, key: str) -> Iterator[bytes]:
        inflation = Inflation(checked_key(key))
        try:
            with translated(f"artifact {key}"), self._open(key) as file:
                while data := file.read(CHUNK_BYTES):
                    yield from inflation.feed(data)
            inflation.finish()
        except Damaged as error:
            raise Permanent(f"artifact {key} is damaged: {error}") from error

    @override
    def get_file(self, key: str, path: Path) -> None:
        with translated(str(path)):
            target = path.open("xb")
            try:
                with target:
                    for chunk in self.stream(key):
                        target.write(chunk)
            except BaseException:
                path.unlink(missing_ok=True)
                raise

    @abstractmethod
    def _publish(self, unfinished: Path, key: str) -> None:
        """Store a complete gzip file under its key."""

    @abstractmethod
    def _open(self, key: str) -> BinaryIO:
        """Open the gzip file of a key; raises NotFound."""

    def _aside(self) -> Path:
        """Return an unused path for a file that is not complete."""
        return self._unfinished / secrets.token_hex(16)

    def _keep(self, source: BinaryIO) -> str:
        unfinished = self._aside()
        with translated(str(self._unfinished)):
            try:
                with unfinished.open("xb") as file:
                    key = _compress(source, file)
                self._publish(unfinished, key)
            finally:
                unfinished.unlink(missing_ok=True)
        return key

    def _remove_stale(self) -> None:
        oldest = time.time() - STALE_SECONDS
        for path in self._unfinished.iterdir():
            with suppress(FileNotFoundError):  # another process removed it
                if path.stat().st_mtime < oldest:
                    path.unlink()


class IncomingFile(IncomingArtifact):
    """A transfer into a file aside, which is decompressed and checked meanwhile.

    Args:
        key: the SHA-256 of the original bytes.
        path: the file, which does not exist yet.
        publish: stores the complete file under the key.
    """

    def __init__(self, key: str, path: Path, publish: Callable[[Path, str], None]) -> None:
        self._key = key
        self._path = path
        self._publish = publish
        self._inflation = Inflation(key, LARGEST_ARTIFACT)
        self._left = LARGEST_ARTIFACT
        with translated(str(path.parent)):
            self._file = path.open("xb")

    @override
    def take(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            raise BadInput(f"has more than {LARGEST_ARTIFACT >> 30} GiB", f"artifact {self._key}")
        try:
            for _ in self._inflation.feed(data):
                pass
        except Damaged as error:
            raise BadInput(str(error), f"artifact {self._key}") from error
        with translated(str(self._path.parent)):
            self._file.write(data)

    @override
    def publish(self) -> None:
        try:
            self._inflation.finish()
        except Damaged as error:
            raise BadInput(str(error), f"artifact {self._key}") from error
        with translated(str(self._path.parent)):
            self._file.close()
            self._publish(self._path, self._key)

    @override
    def close(self) -> None:
        with suppress(OSError):  # the buffered rest does not fit on the disk
            self._file.close()
        with translated(str(self._path.parent)):
            self._path.unlink(missing_ok=True)


def checked_key(key: str) -> str:
    """Return a key that can be a part of a path; raises NotFound for any other text."""
    if not _KEY.fullmatch(key):
        raise NotFound(f"not the key of an artifact: {key[:100]!r}")
    return key


def place_of(key: str) -> str:
    """Return the name of an artifact in a directory or bucket; raises NotFound if this can be no key."""
    return f"{checked_key(key)[:2]}/{key[2:4]}/{key}{SUFFIX}"


def _compress(source: BinaryIO, target: BinaryIO) -> str:
    """Copy with compression, without a name or a time, and return the SHA-256 of the original bytes."""
    digest = hashlib.sha256()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=target, mtime=0) as file:
        while chunk := source.read(CHUNK_BYTES):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Raise errors of files as Benchgate's own; ``what`` is the file or directory in the message."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"{what} does not exist") from error
    except (FileExistsError, PermissionError, NotADirectoryError) as error:
        raise Permanent(f"{what}: {error.strerror}") from error
    except OSError as error:
        kind = DiskFull if error.errno in OUT_OF_ROOM else Transient
        raise kind(f"{what}: {error.strerror or error}") from error
