"""Find files that a project downloads by itself, in the trace of a CMake configure run.

A trace of ``cmake --trace-expand --trace-format=json-v1`` has one command call in each line.
"""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TRACING: Final = ("--trace-expand", "--trace-format=json-v1")
"""The arguments of CMake for such a trace."""

_SINCE: Final = (3, 17)  # the version of CMake
_MARK: Final = '"DOWNLOAD"'


@dataclass(frozen=True, slots=True)
class FileDownload:
    """A call of ``file(DOWNLOAD)``: the URL, and the absolute path of the file."""

    url: str
    path: str


def can_trace(capabilities: str) -> bool:
    """Return whether CMake can write such a trace, from the output of ``cmake -E capabilities``."""
    try:
        version = json.loads(capabilities)["version"]
        return (version["major"], version["minor"]) >= _SINCE
    except (KeyError, TypeError, ValueError):
        return False


def file_downloads(trace: Iterable[str]) -> Iterator[FileDownload]:
    """Yield the downloads in the lines of a trace."""
    for line in trace:
        if _MARK not in line:  # a trace has a hundred thousand lines
            continue
        try:
            call = json.loads(line)
            arguments = call["args"]
            if call["cmd"].lower() != "file" or arguments[0] != "DOWNLOAD":
                continue
            url, path = arguments[1:3]
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            continue
        if posixpath.isabs(path):
            yield FileDownload(url, posixpath.normpath(path))
