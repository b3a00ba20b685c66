"""Find the archives that a project's files name, and replace their addresses by local ones."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ORIGIN: Final = "https://github.com/"
BUILD_FILE: Final = re.compile(
    r"(?:^|/)(?:CMakeLists\.txt(?:\.in)?|[^/]*\.cmake(?:\.in)?|\.gitmodules|[^/]*\.wrap)$"
)
"""The paths of files that say what a project downloads."""

_PART: Final = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_ARCHIVE: Final = re.compile(
    rf"(?P<repository>{_PART}/{_PART})/archive/(?:refs/(?:tags|heads)/)?(?P<commit>[\w./+-]+?)"
    r"(?P<ending>\.zip|\.tar\.gz)"
)
_TOKEN: Final = re.compile(r"https?://[^\s\"'();]+|\b[0-9a-fA-F]{7,64}\b|\n")
_SHA256_DIGITS: Final = 64
_LINES: Final = 6  # between the address of an archive and its hash
_TAG: Final = re.compile(r"v(?=\d)")


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive of a revision that GitHub offers; ``place`` is its address without the origin."""

    place: str
    repository: str
    commit: str

    @property
    def format(self) -> str:
        """The name of the format in ``git archive``."""
        return "zip" if self.place.endswith(".zip") else "tar.gz"

    @property
    def prefix(self) -> str:
        """The folder in the archive, as GitHub names it: without the `v` of a version."""
        commit = _TAG.sub("", self.commit, count=1) if _TAG.match(self.commit) else self.commit
        return f"{self.repository.partition('/')[2]}-{commit.replace('/', '-')}/"


def archive_of(place: str) -> Archive | None:
    """Read the address of an archive without its origin; return None for any other address."""
    found = _ARCHIVE.fullmatch(place)
    return Archive(place, found["repository"], found["commit"]) if found else None


def archives_in(text: str) -> Iterator[Archive]:
    """Find the archives that a file names literally."""
    for token in _TOKEN.findall(text):
        archive = archive_of(token.removeprefix(ORIGIN)) if token.startswith(ORIGIN) else None
        if archive:
            yield archive


@dataclass(frozen=True, slots=True)
class Replacements:
    """The local addresses, hashes and commits for the files of a project.

    Args:
        mirrors: the address of the local mirrors, which replaces the origin; ends with a slash.
        archives: SHA-256 of the archives that were made, by their places.
        addresses: addresses of other downloads, and the local ones.
        ids: published SHA-256 and commits, and those of the local files and mirrors.
    """

    mirrors: str
    archives: Mapping[str, str] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)

    def in_text(self, text: str) -> str:
        """Replace the addresses of a file.

        The hash of an archive is the first one within six lines after its address, before another address;
        those of fallbacks may come between.
        """
        parts: list[str] = []
        end, awaited, left = 0, "", 0
        for token in _TOKEN.finditer(text):
            word = token[0]
            if word == "\n":
                left -= 1
                continue
            line = text[text.rfind("\n", 0, token.start()) + 1 : token.start()]
            if word.startswith("http"):
                if "fallback" not in line:
                    awaited, left = self.archives.get(word.removeprefix(ORIGIN), ""), _LINES
                new = self.addresses.get(word) or self._local(word)
            elif awaited and left > 0 and len(word) == _SHA256_DIGITS:
                new, awaited = awaited, ""
            else:
                new = self.ids.get(word.lower(), word)
            parts += [text[end : token.start()], new]
            end = token.end()
        return "".join((*parts, text[end:]))

    def _local(self, address: str) -> str:
        return self.mirrors + address.removeprefix(ORIGIN) if address.startswith(ORIGIN) else address
