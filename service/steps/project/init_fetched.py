"""Find the downloads of a CMake project, and pin them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.project.starter.fetched import (
    Download,
    Fetched,
    download_of,
    proper_name,
    stamped_download,
)
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from service.domain.project.starter.cmake_reply import CacheEntry
    from service.steps.project.init_inquiry import Inquiry

_SUBBUILD: Final = "-subbuild"


class _FoundDownload(NamedTuple):
    """A download that a configure run left; None if nothing names its source. ``kept`` has its archive."""

    name: str
    download: Download | None
    kept: Path


def find_fetched(inquiry: Inquiry, cache: Mapping[str, CacheEntry]) -> tuple[Fetched, ...]:
    """Find what FetchContent, which CPM also uses, downloaded; note what cannot be pinned."""
    base = cache.get("FETCHCONTENT_BASE_DIR")
    packages = cache.get("CPM_PACKAGES")
    if base is None:
        return ()
    place, build = Path(base.value), Path(cache["CMAKE_CACHEFILE_DIR"].value)
    downloads = (*_by_projects(place), *_by_stamps(place, build))
    return tuple(_pinned(inquiry, downloads, packages.value if packages else ""))


def _by_projects(base: Path) -> Iterator[_FoundDownload]:
    """Find the downloads for which FetchContent configures a project each."""
    for directory in sorted(base.glob(f"*{_SUBBUILD}")):
        name = directory.name.removesuffix(_SUBBUILD)
        download = download_of(_text_of(directory / "CMakeLists.txt"))
        yield _FoundDownload(name, download, directory / f"{name}-populate-prefix" / "src")


def _by_stamps(base: Path, build: Path) -> Iterator[_FoundDownload]:
    """Find the downloads that FetchContent does itself, which it may since CMake 3.30 (policy CMP0168)."""
    for directory in sorted((build / "CMakeFiles" / "fc-stamp").glob("*/")):
        name = directory.name
        texts = {
            each: _text_of(directory / f"{name}-{each}.txt") for each in ("gitinfo", "urlinfo", "patch-info")
        }
        download = stamped_download(texts["gitinfo"] or texts["urlinfo"], texts["patch-info"])
        yield _FoundDownload(name, download, base / f"{name}-tmp")


def _text_of(file: Path) -> str:
    return file.read_text("utf-8", "replace") if file.is_file() else ""


def _pinned(inquiry: Inquiry, downloads: Iterable[_FoundDownload], packages: str) -> Iterator[Fetched]:
    for name, download, kept in downloads:
        pin = pin_of(inquiry, download, kept) if download else ""
        if download and pin:
            yield Fetched(proper_name(name, packages), download, pin)
        else:
            inquiry.progress.note(
                f"not pinned: {plain(name)}, which is neither a Git repository nor an archive"
            )


def pin_of(inquiry: Inquiry, download: Download, kept: Path) -> str:
    """Return the commit of a repository or the SHA-256 of an archive; empty if there is none."""
    if download.git:
        return inquiry.commit_of(download.place)
    files = [path for path in kept.iterdir() if path.is_file()] if kept.is_dir() else []
    # CMake reads an archive of this machine at its own place.
    archive = files[0] if len(files) == 1 else Path(download.url.removeprefix("file://"))
    if not archive.is_file():
        return ""
    with archive.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
