"""Fetch the two commits that a local gate compares into a mirror of the person's repository."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from service.adapters.sources.repository import (
    WORKTREE,
    changed_submodules,
    commit_working_tree,
    resolve_revision,
    top_of,
)
from service.cli.local.mirror import Mirror, open_mirror
from service.domain.values.errors import BadInput
from service.domain.values.text import listed, plain

if TYPE_CHECKING:
    from pathlib import Path

_PARENT: Final = "HEAD^"


@dataclass(frozen=True, slots=True)
class Commits(Mirror):
    """Base and patch, by the names that the person gave them, and by their IDs in the mirror."""

    base: str
    patch: str
    base_commit: str
    patch_commit: str

    def to_mapping(self) -> dict[str, str]:
        """Convert to plain values for JSON."""
        names = ("base", "patch", "base_commit", "patch_commit")
        return {name: getattr(self, name) for name in names}


def open_commits(repo: Path, base: str | None, patch: str, *, is_sandboxed: bool) -> Commits:
    """Fetch base and patch, and choose the CPUs that BENCHGATE_CPUS names.

    Args:
        repo: the person's repository, or a directory in it.
        base: a revision; None: the parent of HEAD, or HEAD itself below the working tree.
        patch: a revision, or the name that stands for the working tree.
        is_sandboxed: programs run in the sandbox.

    Raises:
        BadInput: there is no such revision, the working tree is as the base, or a setting cannot be used.
        Unfit: this host cannot isolate programs.
    """
    is_working_tree = patch == WORKTREE
    if base == WORKTREE:
        raise click.UsageError(f"only what is judged can be {WORKTREE}: the base is a commit")
    base = base or ("HEAD" if is_working_tree else _PARENT)
    base_commit = _resolve_base(repo, base)
    patch_commit = commit_working_tree(repo) if is_working_tree else resolve_revision(repo, patch)
    mirror = open_mirror(repo, is_sandboxed=is_sandboxed)
    mirror.host.source.fetch(mirror.project, base_commit, patch_commit)
    found = Commits(mirror.project, mirror.host, mirror.home, base, patch, base_commit, patch_commit)
    if is_working_tree and _are_alike(found):
        changed = listed([plain(name) for name in changed_submodules(repo)])
        remedy = (
            f"changes in a submodule ({changed}) count once they are committed there"
            if changed
            else f"`HEAD` instead of {WORKTREE} is the last commit"
        )
        raise BadInput(
            f"the working tree has the files of {base}, so there is nothing to judge; {remedy}",
            str(top_of(repo).resolve()),
        )
    return found


def _resolve_base(repo: Path, base: str) -> str:
    try:
        return resolve_revision(repo, base)
    except BadInput:
        if base != _PARENT:
            raise
        resolve_revision(repo, "HEAD")
        what = (
            "HEAD has no parent here, so there is nothing to compare it with: `--base` names another commit"
        )
        raise BadInput(what, str(repo.resolve())) from None


def _are_alike(commits: Commits) -> bool:
    base, patch = (
        commits.source.tree(commits.project, commit) for commit in (commits.base_commit, commits.patch_commit)
    )
    return base == patch
