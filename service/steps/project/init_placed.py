"""Find the files and repositories that a CMake project downloads without FetchContent, and pin them."""

from __future__ import annotations

import hashlib
import os
import re
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.domain.project.starter.fetched import Download, Fetched, is_harmless
from service.domain.project.starter.traced import file_downloads
from service.domain.values.errors import CommandFailed
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from service.steps.project.init_inquiry import Inquiry

_BUILD: Final = "build"
_TRACE: Final = "-trace-"
# The downloads of FetchContent, which are found otherwise; what CMake tries; and directories of
# ExternalProject, which does not take files that are there already.
_NOT_WALKED: Final = re.compile(r"_deps|CMakeFiles|.*-prefix")
_FETCHED: Final = re.compile(r"build/_deps/[^/]+-src/")


def trace_file(inquiry: Inquiry, build: Path) -> Path:
    """Return a new file for the trace of another configure run in a build directory."""
    number = len(list(inquiry.scratch.glob(f"{build.name}{_TRACE}*")))
    return inquiry.scratch / f"{build.name}{_TRACE}{number}"


def find_files(inquiry: Inquiry, build: Path) -> tuple[Fetched, ...]:
    """Find the files that the project downloaded while it was configured; note what cannot be pinned.

    They have a ``place``, at which the same configure run finds them and does not download them again.
    """
    by_path = dict[Path, str]()
    for trace in sorted(inquiry.scratch.glob(f"{build.name}{_TRACE}*")):
        with trace.open(encoding="utf-8", errors="replace") as lines:
            by_path |= {Path(download.path): download.url for download in file_downloads(lines)}
    return tuple(_files(inquiry, build, by_path.items()))


def _files(inquiry: Inquiry, build: Path, urls: Iterable[tuple[Path, str]]) -> Iterator[Fetched]:
    for path, url in urls:
        if path.is_file() and not path.stat().st_size:
            continue  # CMake leaves an empty file if a download fails that may fail
        name, place = url.rpartition("/")[2], _place(inquiry, build, path)
        problem = ""
        if not path.is_file():
            problem = "the project removes the file"
        elif _FETCHED.match(place) or _is_cloned(build, path):
            problem = "it belongs to another download, which no build can write to"
        elif not place or not is_harmless(name):
            problem = "its place or name is unusual"
        elif tarfile.is_tarfile(path) or zipfile.is_zipfile(path):
            problem = "the project unpacks it by itself"
        if problem:
            inquiry.progress.note(f"not pinned: {plain(url)}, because {problem}")
            continue
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        yield Fetched(name.partition(".")[0], Download(url), digest, place)


def _is_cloned(build: Path, path: Path) -> bool:
    """Return whether a file of the build directory is in a repository, for which builds get a link."""
    return any((above / ".git").exists() for above in path.parents if build in above.parents)


def find_clones(inquiry: Inquiry, build: Path, without: Collection[str] = ()) -> tuple[Fetched, ...]:
    """Find the repositories that the project cloned into its build directory, except the paths ``without``.

    They have a ``place``. A command that clones only if the directory does not exist finds it there.
    """
    return tuple(_clones(inquiry, build, without))


def _clones(inquiry: Inquiry, build: Path, without: Collection[str]) -> Iterator[Fetched]:
    for top, below, _ in os.walk(build):
        path = Path(top)
        if top in without:
            below.clear()
        elif ".git" in below:
            place = _place(inquiry, build, path)
            try:
                url = inquiry.run("git", "-C", top, "config", "--get", "remote.origin.url").strip()
            except CommandFailed:
                url = ""
            commit = inquiry.commit_of(top) if url else ""
            if commit and place:
                yield Fetched(path.name, Download(git=url), commit, place)
            else:
                inquiry.progress.note(f"not pinned: the repository in {plain(str(path.relative_to(build)))}")
            below.clear()
        below[:] = [name for name in below if not _NOT_WALKED.fullmatch(name)]


def _place(inquiry: Inquiry, build: Path, path: Path) -> str:
    """Return a path relative to the sources, with ``build`` for the build directory; empty if it has none."""
    for root, name in ((build, _BUILD), (inquiry.directory, "")):
        if path.is_relative_to(root) and path != root:
            place = Path(name) / path.relative_to(root)
            return place.as_posix() if is_harmless(place.as_posix()) else ""
    return ""
