"""The downloads of a configure run, as the pinned dependencies of a project file."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ADDED: Final = re.compile(r"ExternalProject_Add\(\S+-populate\s*\n(.*)\n")
_PLACE: Final = re.compile(r'^\s*SOURCE_DIR\s+"(.*)"$', re.MULTILINE)
_FACT: Final = re.compile(r"^(command|source_dir|repository|url\(s\))=(.*)$", re.MULTILINE)
_WORD: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
# Machines fetch from nowhere else. No credentials, no characters that YAML reads, no parts that leave a path.
_URL: Final = re.compile(
    r"(?:https://[A-Za-z0-9.-]+(?::\d+)?|file://)(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~+%-]*)+"
)


@dataclass(frozen=True, slots=True)
class Download:
    """A download that CMake's FetchContent was asked for.

    It has a ``url`` or a ``git`` repository. ``place`` is the directory of its files. ``is_patched``:
    FetchContent changes the files afterwards.
    """

    url: str = ""
    git: str = ""
    place: str = ""
    is_patched: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """A download of a configure run, with what pins it: a repository's commit or an archive's SHA-256."""

    name: str
    download: Download
    pin: str


def download_of(populating: str) -> Download | None:
    """Read the CMakeLists.txt by which FetchContent populates a directory; None if it downloads otherwise.

    Of several URLs for one archive, the first counts.
    """
    added, place = _ADDED.search(populating), _PLACE.search(populating)
    words = _WORD.findall(added[1]) if added else []
    given = dict(pairwise(words))
    url, git = given.get("URL", ""), given.get("GIT_REPOSITORY", "")
    if not (url or git):
        return None
    return Download("" if git else url, git, place[1] if place else "", is_patched="PATCH_COMMAND" in words)


def stamped_download(stamp: str, patching: str) -> Download | None:
    """Read the stamp of a download that FetchContent did without a project of its own; None if it has no URL.

    Args:
        stamp: the information about the repository or archive.
        patching: that about the step which changes the files.
    """
    facts, changes = dict(_FACT.findall(stamp)), dict(_FACT.findall(patching))
    url, git = facts.get("url(s)", "").split(";")[0], facts.get("repository", "")
    if not (url or git):
        return None
    return Download(url, git, facts.get("source_dir", ""), is_patched=bool(changes.get("command")))


def proper_name(directory: str, packages: str) -> str:
    """Give a directory of FetchContent, in lower case, the name by which CPM knows it.

    Args:
        directory: its name.
        packages: the cache entry ``CPM_PACKAGES``, empty without CPM.
    """
    return {name.lower(): name for name in packages.split(";")}.get(directory, directory)


def dependencies_lines(fetched: Sequence[Fetched]) -> Iterator[str]:
    """Write the key ``dependencies`` of a project file; lines that a person must complete are marked EDIT."""
    if not fetched:
        return
    yield "dependencies:                   # pinned as configured now; builds find them in /deps"
    for each in fetched:
        source = _fetchable(each.download.git or each.download.url)
        keys = ("git", "commit") if each.download.git else ("url", "sha256")
        if not _NAME.fullmatch(each.name) or not source:
            yield f"  # EDIT: {_printable(each.name)} has no https:// URL here, so machines cannot fetch it"
            continue
        patched = "   # EDIT: its PATCH_COMMAND does not run" if each.download.is_patched else ""
        yield f"  {each.name}:{patched}"
        yield f"    {keys[0]}: {source}"
        yield f"    {keys[1]}: {each.pin}"


def fetched_from(fetched: Sequence[Fetched]) -> tuple[str, ...]:
    """List what BENCHGATE_FETCH_FROM must allow: hosts, and directories of this machine."""
    urls = [_fetchable(each.download.git or each.download.url) for each in fetched]
    hosts = (
        f"{posixpath.dirname(url)}/"
        if url.startswith("file://")
        else url.removeprefix("https://").split("/")[0]
        for url in urls
        if url
    )
    return tuple(dict.fromkeys(hosts))


def _fetchable(source: str) -> str:
    """Return a URL that machines may fetch from; empty if this is none. A path is one of this machine."""
    url = f"file://{source}" if posixpath.isabs(source) else source
    return url if _URL.fullmatch(url) else ""


def _printable(text: str) -> str:
    return re.sub(r"[^\w.+-]", "?", text)[:100]
