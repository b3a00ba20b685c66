"""Read the developer's own repository in their own environment: revisions, working tree and origin."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.domain.trunk.bisection import Suspect
from service.domain.values.errors import BadInput
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

WORKTREE: Final = "WORKTREE"
"""The name that stands for the state of the working tree, instead of a revision."""

MOST_UNTRACKED_BYTES: Final = 256 << 20  # more is most likely a build directory that nobody ignores
_BUILD: Final = "build"  # the build directory of jobs
_SECONDS: Final = 600.0
# Fixed, so that one state of the working tree is one commit, however often it is stored.
_IDENTITY: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "benchgate"), ("EMAIL", "benchgate@localhost"), ("DATE", "@0 +0000"))
}


def resolve_revision(repository: Path, revision: str) -> str:
    """Resolve a revision to a commit ID.

    Raises:
        BadInput: there is no repository, or no such revision.
    """
    words = ("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    done = _run(repository, words)
    if done.returncode:
        where = str(repository.resolve())
        if "Needed a single revision" in done.stderr:  # the repository exists, the revision does not
            raise BadInput(f"there is no revision {revision!r}", where)
        raise BadInput(f"git cannot resolve the revision {revision!r}: {_reason(done)}", where)
    return done.stdout.split()[-1]


def first_parent_line(repository: Path, good: str, bad: str) -> tuple[Suspect, ...]:
    """Return the commits after ``good`` up to ``bad`` along first parents, oldest first.

    Raises:
        BadInput: git cannot read them.
    """
    options = ("--first-parent", "--reverse", "--no-show-signature", "--no-mailmap", "--no-color", "-z")
    fields = "--format=%H%x00%P%x00%as%x00%an%x00%s"
    printed = _ask(repository, "log", *options, fields, "--end-of-options", f"{good}..{bad}")
    texts = iter(printed.split("\0")[:-1])
    rows = zip(texts, texts, texts, texts, texts, strict=True)
    return tuple(
        Suspect(own, tuple(parents.split()), day, author, subject)
        for own, parents, day, author, subject in rows
    )


def top_of(repository: Path) -> Path:
    """Return the top of the working tree that a directory is in; the directory itself, if it is in none."""
    done = _run(repository, ("rev-parse", "--show-toplevel"))
    top = "" if done.returncode else done.stdout.removesuffix("\n")
    return Path(top) if top else repository


def commit_working_tree(repository: Path) -> str:
    """Store the state of the working tree as a commit on top of HEAD, and return its ID.

    The commit has tracked and untracked files, but no ignored ones. It only adds objects, which git deletes
    like those of a dropped stash: index, HEAD, branches and stashes stay as they are.

    Raises:
        BadInput: there is no working tree or no commit, git cannot read a file, or the untracked files are
            more than ``MOST_UNTRACKED_BYTES`` or in a working tree of their own.
    """
    head = resolve_revision(repository, "HEAD")
    return _commit(repository, "-p", head)


def commit_sources(repository: Path) -> str:
    """Store the working tree as :func:`commit_working_tree` does, also in a repository without a commit.

    An untracked ``build`` at the top, most likely the person's own build directory, is left out.
    """
    return _commit(repository, without=(_BUILD,))


def _commit(repository: Path, *parent: str, without: Collection[str] = ()) -> str:
    top = Path(_ask(repository, "rev-parse", "--show-toplevel").removesuffix("\n"))
    _refuse_unusable(top, without)
    index = top / _ask(top, "rev-parse", "--git-path", "index").removesuffix("\n")
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "index"
        if index.exists():
            # With its times: by them, git recognises files that changed in the same moment.
            shutil.copy2(index, copy)
        env = {"GIT_INDEX_FILE": str(copy)}
        # A split index would write to the repository; line endings are the person's own concern.
        settings = ("-c", "core.splitIndex=false", "-c", "core.safecrlf=false")
        if without:  # their tracked files count
            _ask(top, *settings, "add", "--update", env=env)
        _ask(top, *settings, "add", "--all", ".", *(f":(exclude,top){name}" for name in without), env=env)
        tree = _ask(top, "write-tree", env=env).strip()
    return _ask(top, "commit-tree", tree, *parent, "-m", "The working tree", env=_IDENTITY).strip()


def changed_submodules(repository: Path) -> tuple[str, ...]:
    """Name the submodules with changes that nobody committed there, so that no commit of theirs has them."""
    # Without its lock, `status` does not write the index.
    printed = _ask(repository, "--no-optional-locks", "status", "--porcelain=v2", "-z")
    rows = (line.split(" ", 8) for line in printed.split("\0") if line.startswith("1 "))
    return tuple(row[-1] for row in rows if row[2][0] == "S" and row[2][2:] != "..")


def read_clone(repository: Path) -> tuple[tuple[Path, ...], str]:
    """Return git's directories for submodules of a repository, and the URL of its origin.

    A work tree that `git worktree` added has a directory of its own besides that of the clone. `repo` gives
    the only remote another name than `origin`. The URL is empty if there is neither.
    """
    own = _answer(repository, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir")
    remotes = _answer(repository, "remote").split()
    name = remotes[0] if len(remotes) == 1 else "origin"
    origin = _answer(repository, "remote", "get-url", name)
    return tuple(dict.fromkeys(map(Path, own.splitlines()))), origin.strip()


def _refuse_unusable(top: Path, without: Collection[str]) -> None:
    sizes: dict[str, int] = {}
    for name in _ask(top, "ls-files", "-z", "--others", "--exclude-standard").split("\0")[:-1]:
        if name.split("/")[0] in without:
            continue
        if name.endswith("/"):  # a commit would have an empty directory there
            raise BadInput(
                f"{plain(name)} is a working tree of its own, whose files no commit here has: name it in "
                ".gitignore, or make it a submodule",
                str(top),
            )
        part = name.split("/")[0] + ("/" if "/" in name else "")
        sizes[part] = sizes.get(part, 0) + _size_of(top / name)
    if sum(sizes.values()) > MOST_UNTRACKED_BYTES:
        largest = max(sizes, key=lambda part: sizes[part])
        raise BadInput(
            f"the untracked files have {sum(sizes.values()) >> 20} MiB, at most {MOST_UNTRACKED_BYTES >> 20} "
            f"are copied: name what does not belong to the sources, such as {plain(largest)}, in .gitignore",
            str(top),
        )


def _size_of(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:  # it was removed meanwhile
        return 0


def _ask(repository: Path, *words: str, env: Mapping[str, str] | None = None) -> str:
    """Run git, and return what it prints."""
    done = _run(repository, words, env)
    if done.returncode:
        raise BadInput(f"git cannot read the working tree: {_reason(done)}", str(repository.resolve()))
    return done.stdout


def _answer(repository: Path, *words: str) -> str:
    """Run git, and return what it prints; empty if it fails."""
    try:
        done = _run(repository, words)
    except BadInput:
        return ""
    return "" if done.returncode else done.stdout


def _run(
    repository: Path, words: tuple[str, ...], env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", str(repository), *words]
    english = {**os.environ, "LC_ALL": "C", **(env or {})}
    try:
        return subprocess.run(  # noqa: S603 - git
            command,
            check=False,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=_SECONDS,
            env=english,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"git does not answer: {error}", str(repository)) from None


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """Return git's error, without the hints that follow it."""
    lines = done.stderr.strip().splitlines()
    errors = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    first = next(iter((*errors, *lines[-1:])), "git gave no reason")
    return first.removeprefix("fatal: ").removeprefix("error: ")
