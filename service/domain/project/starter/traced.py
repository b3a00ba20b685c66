"""The trace of a CMake configure run: the files that the project downloads by itself.

The form is that of ``cmake --trace-expand --trace-format=json-v1``: one call of a command in each line.
"""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ARGUMENTS: Final = ("--trace-expand", "--trace-format=json-v1")
"""The arguments with which CMake writes this form, since version 3.17."""

SINCE: Final = (3, 17)
_MARK: Final = '"DOWNLOAD"'


@dataclass(frozen=True, slots=True)
class FileDownload:
    """A call of ``file(DOWNLOAD)``: the URL, and the absolute path of the file."""

    url: str
    path: str


def file_downloads(trace: Iterable[str]) -> Iterator[FileDownload]:
    """Find the downloads in the lines of a trace."""
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
