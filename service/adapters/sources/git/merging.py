"""Merge commits of a mirror, in the mirror itself: equal arguments give an equal commit on every machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.adapters.sources.git.command import run_git
from service.domain.values.errors import Transient

if TYPE_CHECKING:
    from pathlib import Path

_CONFLICT: Final = 1
_UNKNOWN_OPTION: Final = 129
_BY: Final = "Benchgate <> 0 +0000"  # always the same, because the commit's ID depends on it


def merge(mirror: Path, onto: str, commit: str, since: str | None = None) -> str | None:
    """Merge a commit into another one, and return the ID of the merge; None if they conflict.

    Args:
        mirror: a bare repository with all of these commits.
        onto: the first parent of the merge.
        commit: the second one.
        since: where the differences of both begin; by default at their best common ancestors. Two commits
            without a common ancestor conflict.

    Raises:
        Transient: git failed.
    """
    ours, theirs = onto, commit
    if since is not None:  # git 2.39 has no option for it
        root = _write_commit(mirror, f"{since}^{{tree}}")
        ours, theirs = (_write_commit(mirror, f"{each}^{{tree}}", root) for each in (onto, commit))
    elif run_git(mirror, ("merge-base", onto, commit)).code == _CONFLICT:
        return None
    merged = run_git(mirror, ("merge-tree", "--write-tree", "--no-messages", ours, theirs))
    if merged.code == _UNKNOWN_OPTION:
        raise Transient("git 2.38 or later is needed to merge a patch set into its branch")
    if merged.code == _CONFLICT and merged.output:  # a missing commit has the same code, and no output
        return None
    return _write_commit(mirror, merged.checked(f"merge in {mirror.name}").line(), onto, commit)


def _write_commit(mirror: Path, tree: str, *parents: str) -> str:
    """Write a commit to the mirror, without a ref, and return its ID."""
    found = run_git(mirror, ("rev-parse", "--verify", "--quiet", "--end-of-options", tree))
    lines = [
        f"tree {found.checked(f'a tree in {mirror.name}').line()}",
        *(f"parent {each}" for each in parents),
        f"author {_BY}",
        f"committer {_BY}",
        "\nmerge\n",
    ]
    written = run_git(
        mirror, ("hash-object", "-t", "commit", "-w", "--stdin"), given="\n".join(lines).encode()
    )
    return written.checked(f"git hash-object in {mirror.name}").line()
