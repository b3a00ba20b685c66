"""Recognise downloads that failed because builds have no network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from service.domain.building.log_places import lines_with
from service.domain.values.text import plain

_NOT_TRIED: Final = "ERROR: Automatic wrap-based subproject downloading is disabled"  # Meson's nodownload
_NO_REMOTE: Final = "' not resolved: No remote defined"  # Conan's --no-remote
# git, curl, CMake, wget, Python and Java when a host name cannot be resolved.
_MARK: Final = re.compile(
    rb"(?i:could(?: not|n't) resolve host)|unable to (?:resolve host address|look up )|Unknown host\b|"
    rb"(?i:temporary failure in name resolution)|Failed to clone repository: |"
    + b"|".join((_NOT_TRIED.encode(), _NO_REMOTE.encode()))
)
_HOST: Final = re.compile(
    r"(?:resolve host(?:: |name:? | address )|look up |Unknown host:? )['‘]?([a-z0-9][a-z0-9.-]{0,250})",
    re.IGNORECASE,
)
_URL: Final = re.compile(r"(?:https?|ftp|git|ssh)://[^\s'\"<>()\[\]‘’]{1,500}")
_CLONED: Final = re.compile(r"Failed to clone repository: '([^']{1,500})'")
_PACKAGE: Final = re.compile(r"ERROR: Package '([^'\n]{1,200})' not resolved")  # Conan
_FILE: Final = re.compile(r"for file: \[([^\]\n]{1,500})\]")  # CMake's file(DOWNLOAD), which prints no URL
_SUBPROJECT: Final = re.compile(r"ERROR: Subproject ([\w.+-]{1,100}) is buildable: NO")
_STEP: Final = re.compile(r"Performing download step.{0,40} for '([\w.+-]{1,100})'")
_OF_FETCH_CONTENT: Final = "-populate"
# FetchContent names what it downloads.
_NAME: Final = re.compile(r"for '([\w.+-]{1,100})-populate'|Build step for ([\w.+-]{1,100}) failed")
_BEFORE, _AFTER = 4000, 4000  # bytes around the message; enough for CMake's report of one download


@dataclass(frozen=True, slots=True)
class MissingDownload:
    """A failed download: URL or host, and the build system's name for it; empty if unknown.

    ``is_external``: CMake's ExternalProject does it, which takes no dependency instead.
    """

    source: str
    name: str = ""
    is_external: bool = False


def missing_download(log: bytes) -> MissingDownload | None:
    """Find the first download in a log that failed for lack of network."""
    begin, line = next(lines_with(_MARK, log), (0, ""))
    if not line:
        return None
    before = log[max(0, begin - _BEFORE) : begin].decode(errors="replace")
    after = log[begin : begin + _AFTER].decode(errors="replace")
    source = plain(_source(line, before), 200)
    steps = [found[1] for found in _STEP.finditer(before)]
    if steps and not steps[-1].endswith(_OF_FETCH_CONTENT):
        return MissingDownload(source, plain(steps[-1]), is_external=True)
    named = [*_NAME.finditer(before)][-1:] or [*_NAME.finditer(after)][:1]
    name = next((found[found.lastindex or 0] for found in named), "")
    return MissingDownload(source, plain(name))


def _source(line: str, before: str) -> str:
    """Return the URL in the line, or the last one before it with the line's host, or the host, or a file."""
    if cloned := _CLONED.search(line):
        return cloned[1]
    if package := _PACKAGE.search(line):
        return package[1]
    if _NOT_TRIED in line:
        subprojects = [found[1] for found in _SUBPROJECT.finditer(before)]
        return f"subprojects/{subprojects[-1]}.wrap" if subprojects else ""
    host = found[1] if (found := _HOST.search(line)) else ""
    urls = [url[0].rstrip(".,:;/") for url in (*_URL.finditer(before), *_URL.finditer(line))]
    files = [found[1] for found in _FILE.finditer(before)]
    return next((url for url in reversed(urls) if host in url), host) or next(reversed(files), "")
