"""Store artifacts as compressed files in a directory, named by the SHA-256 of their content."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from typing_extensions import override

from service.adapters.building.compressed import (
    MARK,
    SUFFIX,
    CompressedArtifacts,
    IncomingFile,
    checked_key,
    place_of,
    translated,
)
from service.ports.building import ArtifactStore, IncomingArtifact, KeptArtifact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
            for path in self._root.glob(f"{prefix[:2]:?<2}/{prefix[2:4]:?<2}/{prefix}*{SUFFIX}"):
                with suppress(FileNotFoundError):  # deleted meanwhile
                    facts = path.stat()
                    yield KeptArtifact(path.name.removesuffix(SUFFIX), facts.st_mtime, facts.st_size)

    @override
    def mark(self, site: str) -> None:
        unfinished, place = self._aside(), self._root / MARK
        with translated(str(place)):
            unfinished.write_text(site, encoding="utf-8")
            _sync(unfinished, os.O_RDWR)
            unfinished.replace(place)
            _sync(self._root, os.O_RDONLY | os.O_DIRECTORY)

    @override
    def marked(self) -> str:
        place = self._root / MARK
        with translated(str(place)), suppress(FileNotFoundError):
            return place.read_text(encoding="utf-8", errors="replace").strip()
        return ""

    @override
    def receive(self, key: str) -> IncomingArtifact:
        return IncomingFile(checked_key(key), self._aside(), self._publish)

    @override
    def packed(self, key: str) -> BinaryIO:
        with translated(f"artifact {key}"):
            return self._open(checked_key(key))

    def _place(self, key: str) -> Path:
        return self._root / place_of(key)

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


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
