"""Parse Meson's wrap files: what a subproject downloads, and where Meson looks for it."""

from __future__ import annotations

import re
from configparser import ConfigParser
from configparser import Error as NoWrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.project.starter.fetched import Download, fetchable

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX: Final = "wrap-"
_FILES: Final = ("source", "patch")  # a wrap of any kind can have a patch
COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")  # checked because it is written into YAML


@dataclass(frozen=True, slots=True)
class WrapFile:
    """An archive of a wrap: its file name among Meson's downloads, and its SHA-256, if given."""

    name: str
    download: Download
    sha256: str


@dataclass(frozen=True, slots=True)
class WrapRepository:
    """The repository of a wrap: its directory among the subprojects, and its commit, branch or tag."""

    directory: str
    download: Download
    revision: str


@dataclass(frozen=True, slots=True)
class Wrap:
    """The downloads of a wrap file.

    ``redirect`` is the file to read instead, relative to this one; ``unknown`` is the kind of a download that
    machines cannot fetch, such as svn.
    """

    files: tuple[WrapFile, ...] = ()
    repository: WrapRepository | None = None
    redirect: str = ""
    unknown: str = ""


def parse_wrap(text: str, name: str) -> Wrap:
    """Parse a wrap file; an invalid one downloads nothing, as Meson itself reports.

    ``name`` is the subproject's, which is also the default of its directory.
    """
    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
        section = next(each for each in parser.sections() if each.startswith(_PREFIX))
    except (NoWrap, StopIteration):
        return Wrap()
    values = dict(parser[section])
    kind = section.removeprefix(_PREFIX)
    files = tuple(_file(values, what) for what in _FILES if f"{what}_url" in values)
    match kind:
        case "redirect":
            return Wrap(redirect=values.get("filename", ""))
        case "file":
            return Wrap(files)
        case "git":
            directory, revision = values.get("directory", name), values.get("revision", "")
            return Wrap(files, WrapRepository(directory, Download(git=values.get("url", "")), revision))
        case _:
            return Wrap(files, unknown=kind)


def _file(values: Mapping[str, str], what: str) -> WrapFile:
    """Choose the first URL that machines may fetch; Meson tries the fallback, too."""
    urls = [values[key] for key in (f"{what}_url", f"{what}_fallback_url") if key in values]
    url = next(filter(fetchable, urls), urls[0])
    digest = values.get(f"{what}_hash", "").lower()
    name = values.get(f"{what}_filename", "")
    return WrapFile(name, Download(url), digest if _SHA256.fullmatch(digest) else "")
