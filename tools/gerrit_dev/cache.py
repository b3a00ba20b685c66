"""Cache downloads without incomplete entries."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def cache_directory() -> Path:
    """Return the directory for downloads; create it if it is missing."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = Path(root) / "benchgate" / "gerrit"
    path.mkdir(parents=True, exist_ok=True)
    return path


def kept(path: Path, is_whole: Callable[[Path], bool], make: Callable[[Path], None]) -> Path:
    """Return the directory ``path``; if it is not complete (``is_whole``), let ``make`` fill a new one.

    Of two concurrent callers, only one calls ``make``.
    """
    with locked(path.with_name(f"{path.name}.lock")):
        if not is_whole(path):
            with tempfile.TemporaryDirectory(prefix="new.", dir=path.parent) as parent:
                new = Path(parent) / path.name
                new.mkdir()
                make(new)
                shutil.rmtree(path, ignore_errors=True)
                new.rename(path)
    return path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file, and wait for other holders of the lock."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
