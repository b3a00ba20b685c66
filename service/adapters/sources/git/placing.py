"""Place a workspace's repositories and files so that no link of a revision leads elsewhere."""

from __future__ import annotations

import posixpath
import shutil
import stat
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import Incomplete
from service.domain.values.text import plain

if TYPE_CHECKING:
    from pathlib import Path

    from service.domain.sources.workspace import PlacedFile

_EXECUTABLE: Final = 0o111


def require_free(top: Path, path: str, what: str) -> None:
    """Raise Incomplete unless a path is missing or an empty directory, and above it are directories only."""
    mode = _mode_of(top, path, what)
    if mode is not None and not (stat.S_ISDIR(mode) and not any((top / path).iterdir())):
        raise Incomplete(what, "other files are in its place")


def put_file(top: Path, file: PlacedFile) -> None:
    """Copy a file of the workspace, or link to it, as the manifest says.

    As with ``repo``, nothing is copied if the file to copy is missing.

    Raises:
        Incomplete: its place is not free, or the file to copy is no regular file or below a link.
    """
    what = f"{'linkfile' if file.is_link else 'copyfile'} {plain(file.target)}"
    if _mode_of(top, file.target, what) is not None:
        raise Incomplete(what, "another file is in its place")
    target = top / file.target
    if file.is_link:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(posixpath.relpath(file.source or ".", posixpath.dirname(file.target) or "."))
        return
    mode = _mode_of(top, file.source, what)
    if mode is None:
        return
    if not stat.S_ISREG(mode):
        raise Incomplete(what, f"{plain(file.source)} is no regular file there")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(top / file.source, target, follow_symlinks=False)
    target.chmod(0o755 if mode & _EXECUTABLE else 0o644)


def _mode_of(top: Path, path: str, what: str) -> int | None:
    """Return the type and permissions of a path below the top, or None if it is missing.

    Raises:
        Incomplete: a part above it is no directory. A link there could lead out of the workspace.
    """
    at, mode = top, stat.S_IFDIR
    for part in filter(None, path.split("/")):
        if not stat.S_ISDIR(mode):
            raise Incomplete(what, "a file or link is in the way")
        at /= part
        try:
            mode = at.lstat().st_mode
        except FileNotFoundError:
            return None
    return mode
