"""Store artifacts as compressed files in a directory, named by the SHA-256 of their content."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Final

from typing_extensions import override

from service.adapters.building.compressed import (
    CompressedArtifacts,
    Damaged,
    Inflation,
    checked_key,
    translated,
)
from service.domain.values.errors import BadInput
from service.ports.building import LARGEST_ARTIFACT, ArtifactStore, IncomingArtifact, KeptArtifact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_SUFFIX: Final = ".gz"
_MARK: Final = ".benchgate-site"


class DirectoryArtifacts(CompressedArtifacts, ArtifactStore):
    """Artifacts in a directory that any number of processes may share.

    A file appears under its key only when it is complete, even if processes are killed while they write.

    Args:
        root: the directory, which belongs to this program; created if it is missing.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        super().__init__(root / "incoming")

    @override
    def delete(self, key: str, stored_before: float) -> bool:
        place, aside = self._place(key), self._aside()
        latest = time.time() - stored_before
        with translated(str(self._root)), suppress(FileNotFoundError):
            if place.stat().st_mtime > latest:
                return False
            # Another process may have stored it again meanwhile; none touches the file once it is aside.
            place.rename(aside)
            if aside.stat().st_mtime > latest:
                aside.replace(place)
                return False
            aside.unlink()
        return True

    @override
    def listed(self, prefix: str) -> Iterator[KeptArtifact]:
        with translated(str(self._root)):
            for path in self._root.glob(f"{prefix[:2]:?<2}/{prefix[2:4]:?<2}/{prefix}*{_SUFFIX}"):
                with suppress(FileNotFoundError):  # deleted meanwhile
                    facts = path.stat()
                    yield KeptArtifact(path.name.removesuffix(_SUFFIX), facts.st_mtime, facts.st_size)

    @override
    def mark(self, site: str) -> None:
        unfinished, place = self._aside(), self._root / _MARK
        with translated(str(place)):
            unfinished.write_text(site, encoding="utf-8")
            _sync(unfinished, os.O_RDWR)
            unfinished.replace(place)
            _sync(self._root, os.O_RDONLY | os.O_DIRECTORY)

    @override
    def marked(self) -> str:
        place = self._root / _MARK
        with translated(str(place)), suppress(FileNotFoundError):
            return place.read_text(encoding="utf-8", errors="replace").strip()
        return ""

    @override
    def receive(self, key: str) -> IncomingArtifact:
        return _IncomingFile(checked_key(key), self._aside(), self._publish)

    @override
    def packed(self, key: str) -> BinaryIO:
        with translated(f"artifact {key}"):
            return self._open(checked_key(key))

    def _place(self, key: str) -> Path:
        return self._root / checked_key(key)[:2] / key[2:4] / f"{key}{_SUFFIX}"

    @override
    def _open(self, key: str) -> BinaryIO:
        return self._place(key).open("rb")

    @override
    def _publish(self, unfinished: Path, key: str) -> None:
        """Rename a complete file to its key so that it survives a power failure."""
        _sync(unfinished, os.O_RDWR)
        place = self._place(key)
        place.parent.mkdir(parents=True, exist_ok=True)
        # An existing file has the same bytes, unless it is damaged.
        unfinished.replace(place)
        for directory in (place.parent, place.parent.parent, self._root):
            _sync(directory, os.O_RDONLY | os.O_DIRECTORY)


class _IncomingFile(IncomingArtifact):
    """A file that grows aside, and is decompressed meanwhile."""

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


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
