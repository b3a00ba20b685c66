"""Find what ExternalProject downloaded in a build directory, also in projects that a configure run builds."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.domain.project.starter.external import ExternalDownload
from service.domain.project.starter.fetched import stamped_download

if TYPE_CHECKING:
    from collections.abc import Iterator

_STAMP: Final = re.compile(r"(.+)-(?:git|url)info\.txt")
_OF_FETCH_CONTENT: Final = "-populate"


def find_external(build: Path) -> tuple[ExternalDownload, ...]:
    """Find the finished downloads of ExternalProject, except those that FetchContent does with it."""
    return tuple(_found(build))


def _found(build: Path) -> Iterator[ExternalDownload]:
    for top, below, names in os.walk(build):
        below.sort()
        for stamp in sorted(filter(None, map(_STAMP.fullmatch, names)), key=lambda each: each[1]):
            name = stamp[1]
            if f"{name}-download" not in names or name.endswith(_OF_FETCH_CONTENT):
                continue
            text = Path(top, stamp[0]).read_text("utf-8", "replace")
            if download := stamped_download(text, ""):
                # The stamps are in PREFIX/src/NAME-stamp by default, and archives above.
                yield ExternalDownload(name, download, str(Path(top).parent))
