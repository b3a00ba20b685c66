"""Store artifacts as compressed files in a directory, named by the SHA-256 of their content."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import secrets
import struct
import time
import zlib
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, Final

from typing_extensions import override

from service.adapters.system.untrusted_file import open_output
from service.domain.measuring.pair_record import RECORD_BYTES
from service.domain.values.errors import BadInput, NotFound, Permanent, Transient
from service.ports.building import Artifacts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEVEL: Final = 6  # higher levels hardly make programs smaller, and take three times as long
STALE_SECONDS: Final = 24 * 3600.0  # no write takes that long
CHUNK_BYTES: Final = 1 << 20
_KEY: Final = re.compile(r"[0-9a-f]{64}")
_SIZE: Final = struct.Struct("<I")  # at the end of a gzip file: its original bytes, below 4 GiB
_LEAST_BYTES: Final = 18  # of a gzip file: its header and its end


class DirectoryArtifacts(Artifacts):
    """Artifacts in a directory that any number of processes may share.

    Each read checks the bytes against their key. A file appears under its key only when it is complete, even
    if processes are killed while they write.

    Args:
        root: the directory, which belongs to this program; created if it is missing.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = root / "incoming"
        with _translated(str(root)):
            self._incoming.mkdir(parents=True, exist_ok=True)
            self._remove_stale()

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
        for chunk in self._chunks(key):
            if collected.tell() + len(chunk) > at_most:
                raise BadInput(f"larger than {at_most} bytes", f"artifact {key}")
            collected.write(chunk)
        return collected.getvalue()

    @override
    def stream(self, key: str) -> tuple[int, Iterator[bytes]]:
        place = self._place(key)
        with _translated(f"artifact {key}"), place.open("rb") as file:
            if file.seek(0, os.SEEK_END) < _LEAST_BYTES:
                raise Permanent(f"artifact {key} is damaged: it has no end")
            file.seek(-_SIZE.size, os.SEEK_END)
            (size,) = _SIZE.unpack(file.read())
        return size, self._chunks(key)

    @override
    def get_file(self, key: str, path: Path) -> None:
        with _translated(str(path)):
            target = path.open("xb")
            try:
                with target:
                    for chunk in self._chunks(key):
                        target.write(chunk)
            except BaseException:
                path.unlink(missing_ok=True)
                raise

    @override
    def delete(self, key: str, stored_before: float) -> bool:
        place, aside = self._place(key), self._incoming / secrets.token_hex(16)
        latest = time.time() - stored_before
        with _translated(str(self._root)), suppress(FileNotFoundError):
            if place.stat().st_mtime > latest:
                return False
            # Another process may have stored it again meanwhile; none touches the file once it is aside.
            place.rename(aside)
            if aside.stat().st_mtime > latest:
                aside.replace(place)
                return False
            aside.unlink()
        return True

    def _place(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise NotFound(f"not the key of an artifact: {key[:100]!r}")
        return self._root / key[:2] / key[2:4] / f"{key}.gz"

    def _keep(self, source: BinaryIO) -> str:
        unfinished = self._incoming / secrets.token_hex(16)
        with _translated(str(self._root)):
            try:
                with unfinished.open("xb") as file:
                    key = _compress(source, file)
                    os.fsync(file.fileno())
                self._publish(unfinished, key)
            finally:
                unfinished.unlink(missing_ok=True)
        return key

    def _publish(self, unfinished: Path, key: str) -> None:
        """Rename a complete file to its key so that it survives a power failure."""
        place = self._place(key)
        place.parent.mkdir(parents=True, exist_ok=True)
        # An existing file has the same bytes, unless it is damaged.
        unfinished.replace(place)
        for directory in (place.parent, place.parent.parent, self._root):
            _sync_directory(directory)

    def _chunks(self, key: str) -> Iterator[bytes]:
        """Yield the bytes in chunks; if this raises at the end, all chunks must be discarded."""
        place = self._place(key)
        digest = hashlib.sha256()
        try:
            with _translated(f"artifact {key}"), gzip.open(place, "rb") as file:
                while chunk := file.read(CHUNK_BYTES):
                    digest.update(chunk)
                    yield chunk
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise Permanent(f"artifact {key} is damaged: {error}") from error
        if digest.hexdigest() != key:
            raise Permanent(f"artifact {key} is damaged: its bytes are those of {digest.hexdigest()}")

    def _remove_stale(self) -> None:
        """Remove incomplete files of killed processes."""
        oldest = time.time() - STALE_SECONDS
        for path in self._incoming.iterdir():
            with suppress(FileNotFoundError):  # another process removed it
                if path.stat().st_mtime < oldest:
                    path.unlink()


def _compress(source: BinaryIO, target: BinaryIO) -> str:
    """Copy with compression, without a name or a time, and return the SHA-256 of the original bytes."""
    digest = hashlib.sha256()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=target, mtime=0) as file:
        while chunk := source.read(CHUNK_BYTES):
            digest.update(chunk)
            file.write(chunk)
    target.flush()
    return digest.hexdigest()


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translated(what: str) -> Iterator[None]:
    try:
        yield
    except gzip.BadGzipFile:
        raise
    except FileNotFoundError as error:
        raise NotFound(f"{what} does not exist") from error
    except (FileExistsError, PermissionError, NotADirectoryError) as error:
        raise Permanent(f"{what}: {error.strerror}") from error
    except OSError as error:
        raise Transient(f"{what}: {error.strerror or error}") from error
