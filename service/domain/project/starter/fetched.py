"""Turn the downloads of a project's build into pinned dependencies of a project file."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_ADDED: Final = re.compile(r"ExternalProject_Add\(\S+-populate\s*\n(.*)\n")
_PLACE: Final = re.compile(r'^\s*SOURCE_DIR\s+"(.*)"$', re.MULTILINE)
_FACT: Final = re.compile(r"^(command|source_dir|repository|url\(s\))=(.*)$", re.MULTILINE)
_WORD: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._+-]*"
"""A name that needs no quoting in YAML or a shell."""
_NAME: Final = re.compile(rf"(?!.{{101}}){NAME}")
_BUILD: Final = "build/"
_PATH: Final = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._+-]*/)*[A-Za-z0-9_][A-Za-z0-9._+-]*")
# Machines fetch from such URLs only: no credentials, no special characters of YAML, no `.` or `..`.
_URL: Final = re.compile(
    r"(?:https://[A-Za-z0-9.-]+(?::\d+)?|file://)(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~+%-]*)+"
)
# Where GitHub keeps archives of commits, and files of releases.
_REDIRECTS: Final[Mapping[str, Mapping[str, str]]] = {
    "github.com": {
        "/archive/": "codeload.github.com",
        "/releases/download/": "release-assets.githubusercontent.com",
    }
}


@dataclass(frozen=True, slots=True)
class Download:
    """A download: of a ``url``, or of a ``git`` repository.

    ``place`` is the directory of its files. ``is_patched``: FetchContent changes the files afterwards.
    """

    url: str = ""
    git: str = ""
    place: str = ""
    is_patched: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """A download pinned by a commit or a SHA-256.

    ``place`` is the path in the sources where the build looks for the files before it downloads them; empty
    if it looks the dependency up by name, or in a CMake ``variable``.
    """

    name: str
    download: Download
    pin: str
    place: str = ""
    variable: str = ""

    @property
    def source(self) -> str:
        """The URL from which machines fetch it; empty if they cannot."""
        return fetchable(self.download.git or self.download.url)


def download_of(populating: str) -> Download | None:
    """Parse the CMakeLists.txt with which FetchContent populates a directory; None if it has no URL.

    The first of several URLs for an archive counts.
    """
    added, place = _ADDED.search(populating), _PLACE.search(populating)
    words = _WORD.findall(added[1]) if added else []
    given = dict(pairwise(words))
    url, git = given.get("URL", ""), given.get("GIT_REPOSITORY", "")
    if not (url or git):
        return None
    return Download("" if git else url, git, place[1] if place else "", is_patched="PATCH_COMMAND" in words)


def stamped_download(stamp: str, patching: str) -> Download | None:
    """Parse the stamp files of a download that FetchContent did directly; None if they have no URL.

    Args:
        stamp: the file about the repository or archive.
        patching: the file about the patch step.
    """
    facts, changes = dict(_FACT.findall(stamp)), dict(_FACT.findall(patching))
    url, git = facts.get("url(s)", "").split(";")[0], facts.get("repository", "")
    if not (url or git):
        return None
    return Download(url, git, facts.get("source_dir", ""), is_patched=bool(changes.get("command")))


def proper_name(directory: str, packages: str) -> str:
    """Return CPM's spelling of a directory of FetchContent, which is in lower case.

    ``packages`` is the cache entry ``CPM_PACKAGES``, empty without CPM.
    """
    return {name.lower(): name for name in packages.split(";")}.get(directory, directory)


def is_harmless(path: str) -> bool:
    """Return whether YAML and a shell read a path alike, and it stays below its directory."""
    return _PATH.fullmatch(path) is not None


def with_own_names(fetched: Iterable[Fetched]) -> tuple[Fetched, ...]:
    """Make names unique in any case: number equal ones that have a place."""
    found = sorted(fetched, key=lambda each: bool(each.place))
    used = set[str]()
    named = []
    for each in found:
        names = (each.name, *(f"{each.name}-{number}" for number in range(2, len(found) + 2)))
        name = next(name for name in names if name.upper() not in used or not each.place)
        used.add(name.upper())
        named.append(replace(each, name=name))
    return tuple(named)


def placing_lines(fetched: Iterable[Fetched]) -> Iterator[str]:
    """Write shell commands that put dependencies into their places."""
    for each in fetched:
        if not each.place or not _is_named(each):
            continue
        source = f'"$BENCHGATE_DEPS/{each.name}'
        put = f'ln -sfn {source}"'
        if not each.download.git:
            put = f'cp {source}/{posixpath.basename(each.download.url)}"'
        above = posixpath.dirname(each.place)
        yield f"mkdir -p {above} && {put} {each.place}" if above else f"{put} {each.place}"


def given_options(fetched: Iterable[Fetched]) -> Iterator[str]:
    """Write the options that tell the project in which directory a dependency is."""
    for each in fetched:
        if each.variable and _is_named(each):
            yield f'-D{each.variable}="$BENCHGATE_DEPS/{each.name}"'


def kept_places(fetched: Iterable[Fetched]) -> tuple[str, ...]:
    """List the repositories placed below ``build``, relative to it: programs may read their files."""
    places = (each.place for each in fetched if each.download.git and _is_named(each))
    return tuple(place.removeprefix(_BUILD) for place in places if place.startswith(_BUILD))


def _is_named(each: Fetched) -> bool:
    """Return whether an entry of the project file can name the download and its source."""
    return bool(_NAME.fullmatch(each.name) and each.source)


def dependencies_lines(fetched: Sequence[Fetched]) -> Iterator[str]:
    """Write the key ``dependencies`` of a project file; lines that a person must edit are marked EDIT."""
    if not fetched:
        return
    yield "dependencies:                   # pinned as configured now; builds find them in /deps"
    for each in fetched:
        keys = ("git", "commit") if each.download.git else ("url", "sha256")
        if not _is_named(each):
            problem = (
                "cannot be the name of a dependency: let the build use another"
                if each.source
                else "has no https:// URL here, so machines cannot fetch it"
            )
            yield f"  # EDIT: {_printable(each.name)} {problem}"
            continue
        patched = "   # EDIT: its PATCH_COMMAND does not run" if each.download.is_patched else ""
        yield f"  {each.name}:{patched}"
        yield f"    {keys[0]}: {each.source}"
        yield f"    {keys[1]}: {each.pin}"


def fetched_from(fetched: Sequence[Fetched]) -> tuple[str, ...]:
    """List what BENCHGATE_FETCH_FROM must allow: hosts and local directories, also those of redirects."""
    return tuple(dict.fromkeys(each for one in fetched if one.source for each in _hosts(one.source)))


def _hosts(url: str) -> Iterator[str]:
    if url.startswith("file://"):
        yield f"{posixpath.dirname(url)}/"
        return
    host, _, path = url.removeprefix("https://").partition("/")
    yield host
    for part, other in _REDIRECTS.get(host, {}).items():
        if part in path:
            yield other


def fetchable(source: str) -> str:
    """Return the URL (for a local path, a file URL); empty if machines cannot fetch from it."""
    url = f"file://{source}" if posixpath.isabs(source) else source
    return url if _URL.fullmatch(url) else ""


def _printable(text: str) -> str:
    return re.sub(r"[^\w.+-]", "?", text)[:100]
