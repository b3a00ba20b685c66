"""The downloads of a CMake project, with what pins them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.domain.errors import CommandFailed
from service.domain.project.starter.fetched import Download, Fetched, download_of, proper_name
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from service.domain.project.starter.cmake_reply import CacheEntry
    from service.steps.local.init_inquiry import Inquiry

_SUBBUILD: Final = "-subbuild"


def find_fetched(inquiry: Inquiry, cache: Mapping[str, CacheEntry]) -> tuple[Fetched, ...]:
    """Find what FetchContent, which CPM also uses, downloaded; note what cannot be pinned."""
    base = cache.get("FETCHCONTENT_BASE_DIR")
    packages = cache.get("CPM_PACKAGES")
    if base is None:
        return ()
    return tuple(_fetched(inquiry, Path(base.value), packages.value if packages else ""))


def _fetched(inquiry: Inquiry, base: Path, packages: str) -> Iterator[Fetched]:
    for directory in sorted(base.glob(f"*{_SUBBUILD}")):
        populating = directory / "CMakeLists.txt"
        download = download_of(populating.read_text("utf-8", "replace")) if populating.is_file() else None
        name = directory.name.removesuffix(_SUBBUILD)
        pin = _pin(inquiry, directory, name, download) if download else ""
        if download and pin:
            yield Fetched(proper_name(name, packages), download, pin)
        else:
            inquiry.progress.note(
                f"not pinned: {plain(name)}, which is neither a Git repository nor an archive"
            )


def _pin(inquiry: Inquiry, directory: Path, name: str, download: Download) -> str:
    """Return the commit of a repository or the SHA-256 of an archive; empty if there is none."""
    if download.git:
        try:
            return inquiry.run("git", "-C", download.place, "rev-parse", "HEAD").strip()
        except CommandFailed:
            return ""
    kept = directory / f"{name}-populate-prefix" / "src"
    files = [path for path in kept.iterdir() if path.is_file()] if kept.is_dir() else []
    # CMake reads an archive of this machine at its own place.
    archive = files[0] if len(files) == 1 else Path(download.url)
    if not archive.is_file():
        return ""
    with archive.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
