"""Run git without network, with fixed authors and dates, so that equal trees are equal commits."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_SECONDS: Final = 1200.0
_ENVIRONMENT: Final = {
    **{
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "bench"), ("EMAIL", "bench@localhost"), ("DATE", "@1700000000 +0000"))
    },
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "file",  # never the network; also in submodules
}


class GitFailed(Exception):
    """A git command that failed; says which, and git's own error."""


def git(directory: Path, *words: str, env: Mapping[str, str] | None = None) -> str:
    """Run git in a directory, and return what it prints.

    Raises:
        GitFailed: it failed.
    """
    return git_bytes(directory, *words, env=env).decode(errors="replace")


def git_bytes(directory: Path, *words: str, env: Mapping[str, str] | None = None) -> bytes:
    """Do the same as :func:`git`, and return bytes."""
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *words],
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, **_ENVIRONMENT, **(env or {})},
        )
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git {words[0]}: not done in {_SECONDS:.0f} s") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        errors = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines[-1:]
        raise GitFailed(f"git {words[0]}: {'; '.join(errors[:3]) or f'exit code {done.returncode}'}")
    return done.stdout


def start_repository(directory: Path, mirror: Path, commit: str, without: Sequence[str]) -> None:
    """Make a repository with index and files of a commit of a mirror, without some of them.

    It has no history, and it borrows the objects of the mirror: files that a partial mirror lacks can be left
    out.

    Args:
        directory: an empty directory.
        mirror: a bare repository.
        commit: a commit of it.
        without: pathspecs of files to leave out.
    """
    git(directory, "init", "--quiet", "--initial-branch=main")
    objects = git(mirror, "rev-parse", "--path-format=absolute", "--git-path", "objects").strip()
    (directory / ".git/objects/info/alternates").write_text(f"{objects}\n", "utf-8")
    git(directory, "read-tree", commit)
    if without:
        git(directory, "rm", "--quiet", "--cached", "-r", "--", *without)
    git(directory, "checkout-index", "--all")


def cut_mirror(
    bare: Path, mirror: Path, commit: str, without: Sequence[str], copy_of: Mapping[str, str]
) -> tuple[str, str]:
    """Make a bare repository of one commit, with some files left out or replaced by others.

    Args:
        bare: the directory of the repository; one that was made before gets another commit.
        mirror: another bare repository, of which it borrows the objects.
        commit: a commit or tag of that; a tag is the same name here.
        without: pathspecs of files to leave out.
        copy_of: existing files by the paths of absent ones.

    Returns:
        The ID of the commit in the mirror, and that of the one that was made.
    """
    if not bare.exists():
        bare.mkdir(parents=True)
        git(bare, "init", "--quiet", "--bare", "--initial-branch=main")
        objects = git(mirror, "rev-parse", "--path-format=absolute", "--git-path", "objects").strip()
        (bare / "objects/info/alternates").write_text(f"{objects}\n", "utf-8")
    old = git(mirror, "rev-parse", f"{commit}^{{commit}}").strip()
    git(bare, "read-tree", old)
    if names := git(bare, "ls-files", "-z", "--", *without).split("\0")[:-1] if without else []:
        git(bare, "update-index", "--force-remove", "--", *names, env={"GIT_WORK_TREE": str(bare)})
    for path, existing in copy_of.items():
        blob = git(mirror, "rev-parse", f"{old}:{existing}").strip()
        git(bare, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    tree = git(bare, "write-tree").strip()
    new = git(bare, "commit-tree", tree, "-m", f"{commit} without some files").strip()
    name = f"cut-{old}" if old.startswith(commit) else commit
    git(bare, "update-ref", f"refs/tags/{name}", new)
    git(bare, "update-ref", "refs/heads/main", new)
    return old, new


def commit_all(directory: Path, message: str, parent: str = "") -> str:
    """Commit the tracked files, with new ones, and return the commit's ID; HEAD and index move to it."""
    git(directory, "add", "--all")
    return commit_index(directory, message, parent)


def commit_index(directory: Path, message: str, parent: str = "") -> str:
    """Commit the index, and return the commit's ID; HEAD moves to it."""
    tree = git(directory, "write-tree").strip()
    parents = ("-p", parent) if parent else ()
    commit = git(directory, "commit-tree", tree, *parents, "-m", message).strip()
    git(directory, "update-ref", "--no-deref", "HEAD", commit)
    return commit


def check_out(directory: Path, commit: str) -> None:
    """Bring files and index to a commit; files that are not tracked are deleted, submodules stay."""
    git(directory, "reset", "--quiet", "--hard", commit)
    git(directory, "clean", "--quiet", "-ffdx")
