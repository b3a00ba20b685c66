"""A checked-out repository, and the user's clone that may have its objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.adapters.sources.git.command import run_git

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Clone:
    """A user's clone: the directories of git that may have its submodules, and where it was cloned from."""

    directories: tuple[Path, ...]
    origin: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A checked-out repository: its mirror, commit and address, and the user's clone.

    ``folder`` is its place in all sources, ``marked`` are the paths there that Git LFS may have elsewhere.
    ``has_submodules``: its submodules are filled too.
    """

    mirror: Path
    commit: str
    url: str
    clone: Clone | None
    marked: tuple[str, ...] = ()
    folder: str = ""
    depth: int = 0
    has_submodules: bool = True


def tree_entries(outer: Repository, *paths: str) -> dict[str, tuple[bytes, str, str]]:
    """Return mode, object and size of the entries of a revision by path."""
    arguments = ("ls-tree", "-z", "--long", "--full-tree", "--end-of-options", outer.commit, *paths)
    listed = run_git(outer.mirror, arguments).checked("git ls-tree in a mirror").output
    found = {}
    for row in filter(None, listed.split(b"\0")):
        entry, _, path = row.partition(b"\t")
        mode, _, name, size = entry.split()
        found[path.decode(errors="replace")] = (mode, name.decode(), size.decode())
    return found
