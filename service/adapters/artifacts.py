"""Keeps bytes in a directory under the SHA-256 of their content, compressed."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import secrets
import time
import zlib
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, Final

from service.adapters.untrusted_file import open_output
from service.domain.errors import BadInput, NotFound, Permanent, Transient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AT_MOST: Final = 64 << 20  # bytes held in memory: a log, the raw results of a pair
LEVEL: Final = 6  # beyond it programs hardly get smaller, and take three times as long
STALE_SECONDS: Final = 24 * 3600.0  # nothing is written for that long
CHUNK_BYTES: Final = 1 << 20
_KEY: Final = re.compile(r"[0-9a-f]{64}")


class DirectoryArtifacts:
    """Artifacts in a directory that any number of processes share.

    A key is the SHA-256 of the bytes, and bytes are checked against it whenever they are read. What is
    there under a key is whole, whatever was killed while it was written.

    Args:
        root: the directory; made when missing. It belongs to this program.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = root / "incoming"
        with _translated(str(root)):
            self._incoming.mkdir(parents=True, exist_ok=True)
            self._remove_stale()

    def put(self, data: bytes) -> str:
        """Keep bytes; the same bytes get the same key, and mend what was damaged under it.

        Raises:
            Transient: the disk is full or does not answer.
        """
        return self._keep(BytesIO(data))

    def put_file(self, path: Path) -> str:
        """Keep a file's bytes without holding them in memory; the file may be an untrusted program's.

        Raises:
            BadResults: not a regular file.
            Transient: the disk is full or does not answer.
        """
        with open_output(path) as source:
            return self._keep(source)

    def get(self, key: str, *, at_most: int = AT_MOST) -> bytes:
        """The bytes.

        Raises:
            NotFound: nothing is kept under that key.
            BadInput: more than ``at_most`` bytes; no more than that were held in memory.
            Permanent: what is kept is damaged; the message names the key.
            Transient: the disk does not answer.
        """
        collected = BytesIO()
        for chunk in self._chunks(key):
            if collected.tell() + len(chunk) > at_most:
                raise BadInput(f"larger than {at_most} bytes", f"artifact {key}")
            collected.write(chunk)
        return collected.getvalue()

    def get_file(self, key: str, path: Path) -> None:
        """Write the bytes to a new file; there is none when this raises.

        Raises:
            NotFound: nothing is kept under that key.
            Permanent: what is kept is damaged, or the file exists already.
            Transient: the disk is full or does not answer.
        """
        with _translated(str(path)):
            target = path.open("xb")
            try:
                with target:
                    for chunk in self._chunks(key):
                        target.write(chunk)
            except BaseException:
                path.unlink(missing_ok=True)
                raise

    def _place(self, key: str) -> Path:
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
        """Name a complete file by its key, so that it is there after a power failure as well."""
        place = self._place(key)
        place.parent.mkdir(parents=True, exist_ok=True)
        # Over one that exists as well: the bytes are the same, unless it was damaged.
        unfinished.replace(place)
        for directory in (place.parent, place.parent.parent, self._root):
            _sync_directory(directory)

    def _chunks(self, key: str) -> Iterator[bytes]:
        """The bytes in pieces; whoever takes them must drop them all when this raises at the end."""
        if not _KEY.fullmatch(key):
            raise NotFound(f"not the key of an artifact: {key[:100]!r}")
        digest = hashlib.sha256()
        try:
            with _translated(f"artifact {key}"), gzip.open(self._place(key), "rb") as file:
                while chunk := file.read(CHUNK_BYTES):
                    digest.update(chunk)
                    yield chunk
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise Permanent(f"artifact {key} is damaged: {error}") from error
        if digest.hexdigest() != key:
            raise Permanent(f"artifact {key} is damaged: its bytes are those of {digest.hexdigest()}")

    def _remove_stale(self) -> None:
        """Remove what killed processes left half written."""
        oldest = time.time() - STALE_SECONDS
        for path in self._incoming.iterdir():
            with suppress(FileNotFoundError):  # another process does the same
                if path.stat().st_mtime < oldest:
                    path.unlink()


def _compress(source: BinaryIO, target: BinaryIO) -> str:
    """Copy compressed, without a name or a time in it; the SHA-256 of the plain bytes."""
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
        raise NotFound(f"{what} is not there") from error
    except (FileExistsError, PermissionError, NotADirectoryError) as error:
        raise Permanent(f"{what}: {error.strerror}") from error
    except OSError as error:
        raise Transient(f"{what}: {error.strerror or error}") from error
