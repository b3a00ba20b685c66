"""Git LFS: pointer files, the address of the server, and its batch API."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from service.domain.sources.submodules import over_https

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

POINTER_BYTES: Final = 1024  # the specification's limit
MOST_FILES: Final = 10_000  # of a revision
FILE_BYTES: Final = 4 << 30
TOTAL_BYTES: Final = 16 << 30  # of a revision
BATCH: Final = 100  # objects in a request, as in git-lfs
MEDIA_TYPE: Final = "application/vnd.git-lfs+json"

_POINTER: Final = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize ([0-9]{1,15})\n?"
)
_MOST_PATTERNS: Final = 100


@dataclass(frozen=True, slots=True)
class Pointer:
    """An LFS object: the SHA-256 of its content, and its size in bytes."""

    oid: str
    size: int


@dataclass(frozen=True, slots=True)
class LfsDownload:
    """A server's answer about an object: the URL of its content, or an error."""

    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str = ""


def read_pointer(content: bytes) -> Pointer | None:
    """Parse a pointer file; return None for any other content."""
    found = _POINTER.fullmatch(content)
    return Pointer(found[1].decode(), int(found[2])) if found else None


def is_excluded(path: str, patterns: str) -> bool:
    """Return whether git-lfs's setting ``lfs.fetchexclude`` excludes a file.

    Args:
        path: the file's path in the repository.
        patterns: the setting: comma-separated patterns of a path, a file name or a folder.
    """
    for pattern in filter(None, (each.strip().strip("/") for each in patterns.split(",")[:_MOST_PATTERNS])):
        names = (path, path.rpartition("/")[2])
        if path.startswith(f"{pattern}/") or any(fnmatchcase(name, pattern) for name in names):
            return True
    return False


def server_of_repository(url: str) -> str:
    """Derive the URL of a repository's LFS server from the repository's URL; empty if it has none."""
    public = over_https(url).rstrip("/")
    if not public.startswith(("https://", "http://")):
        return ""
    return f"{public.removesuffix('.git')}.git/info/lfs"


def batch_request(pointers: Iterable[Pointer]) -> dict[str, Any]:
    """Build the body of a batch request for downloads."""
    objects = [{"oid": each.oid, "size": each.size} for each in pointers]
    return {"operation": "download", "transfers": ["basic"], "hash_algo": "sha256", "objects": objects}


def read_batch(document: object) -> dict[str, LfsDownload]:
    """Parse the answer into downloads by object ID, without malformed entries."""
    found: dict[str, LfsDownload] = {}
    match document:
        case {"objects": [*objects]}:
            for each in objects:
                match each:
                    case {"oid": str(oid), "error": {"message": str(message)}}:
                        found[oid] = LfsDownload(error=message or "error")
                    case {"oid": str(oid), "actions": {"download": {"href": str(url), **more}}}:
                        found[oid] = LfsDownload(url, _headers(more.get("header")))
    return found


def _headers(given: object) -> dict[str, str]:
    pairs = given.items() if isinstance(given, dict) else ()
    return {
        name: value
        for name, value in pairs
        if isinstance(name, str) and isinstance(value, str) and f"{name}{value}".isascii()
    }
