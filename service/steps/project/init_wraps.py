"""Find the downloads of a Meson project's wraps, and pin them."""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from service.domain.project.starter.fetched import Fetched, is_harmless
from service.domain.project.starter.meson_reply import meson_subprojects
from service.domain.project.starter.meson_wraps import COMMIT, Wrap, parse_wrap
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from service.domain.project.starter.meson_wraps import WrapFile, WrapRepository
    from service.steps.project.init_inquiry import Inquiry

_CACHE: Final = "packagecache"
_MOST_REDIRECTS: Final = 5  # a wrap of a subproject's subproject is one or two


def find_wraps(inquiry: Inquiry, project: str) -> tuple[Fetched, ...]:
    """Find what the wraps of the configured project downloaded; note what cannot be pinned.

    ``project`` is the answer of ``meson introspect --projectinfo``.
    """
    directory, names = meson_subprojects(project)
    subprojects = inquiry.directory / directory
    found = [each for name in names for each in _fetched(inquiry, subprojects, name)]
    # Two wraps may name one archive. Dependencies differ in more than capitals.
    return tuple({each.name.upper(): each for each in reversed(found)}.values())[::-1]


def _fetched(inquiry: Inquiry, subprojects: Path, name: str) -> Iterator[Fetched]:
    wrap, shown = _read(subprojects, name), plain(name)
    for file in wrap.files:
        if pin := file.sha256 or _digest(subprojects / _CACHE, file):
            yield Fetched(file.name, file.download, pin)
        else:
            inquiry.progress.note(f"not pinned: {plain(file.name)}, because the wrap {shown} has no digest")
    if wrap.repository:
        if pin := _commit(inquiry, subprojects, wrap.repository):
            # Before version 1.3, Meson takes no repository from its cache, only what is in place.
            place = PurePosixPath(
                subprojects.relative_to(inquiry.directory), wrap.repository.directory
            ).as_posix()
            is_placed = is_harmless(place) and not wrap.files  # a patch would have to be unpacked there
            download = wrap.repository.download
            yield Fetched(wrap.repository.directory, download, pin, place if is_placed else "")
        else:
            inquiry.progress.note(f"not pinned: {shown}, whose directory is no Git repository")
    if wrap.unknown:
        inquiry.progress.note(f"not pinned: {shown}, which is downloaded by {plain(wrap.unknown)}")


def _read(subprojects: Path, name: str) -> Wrap:
    """Read the wrap file of a subproject; one without is part of the sources."""
    file = PurePosixPath(f"{name}.wrap")
    for _ in range(_MOST_REDIRECTS):
        path = subprojects / file
        wrap = parse_wrap(path.read_text("utf-8", "replace"), file.stem) if path.is_file() else Wrap()
        if not wrap.redirect:
            return wrap
        file = file.parent / wrap.redirect
    return Wrap()


def _digest(cache: Path, file: WrapFile) -> str:
    """Return the SHA-256 of a downloaded archive; empty if Meson keeps none."""
    archive = cache / file.name
    if not archive.is_file():
        return ""
    with archive.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _commit(inquiry: Inquiry, subprojects: Path, repository: WrapRepository) -> str:
    """Return the commit of a repository; empty if there is none."""
    if COMMIT.fullmatch(repository.revision.lower()):
        return repository.revision.lower()
    return inquiry.commit_of(str(subprojects / repository.directory))
