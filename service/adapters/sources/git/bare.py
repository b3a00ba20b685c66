"""Create a bare repository on this machine, and check out its commits."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.adapters.sources.git.command import LOCAL_SECONDS, Until, run_git, unwatched
from service.adapters.system.eviction import mark_used
from service.adapters.system.locking import locked
from service.adapters.system.removal import remove_tree
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.adapters.sources.git.command import Answer, TransferLimits

_LFS: Final = b"filter=lfs"
_ATTRIBUTES_BYTES: Final = 100 << 20  # git ignores larger files of attributes
_LOCKED: Final = re.compile(r"Unable to create '([^']+\.lock)': File exists")


def create(mirror: Path) -> None:
    """Create an empty bare repository; the caller holds its lock."""
    unfinished = mirror.with_suffix(".new")
    remove_tree(unfinished)
    unfinished.mkdir()
    arguments = ("init", "--bare", "--quiet", "--template=", "--initial-branch=none")
    run_git(unfinished, arguments).checked(f"making the mirror {mirror.name}")
    unfinished.rename(mirror)


def run_locked(
    mirror: Path,
    arguments: Sequence[str],
    lock: int,
    *,
    seconds: float = LOCAL_SECONDS,
    limits: TransferLimits | None = None,
    watch: Callable[[], None] = unwatched,
) -> Answer:
    """Run git while the caller holds the mirror's lock; remove the files that a failed or killed git left."""
    mark_used(mirror)
    _remove_unfinished_packs(mirror)
    # Of a killed checkout, one may name a commit that does not exist, and then every fetch fails.
    forget_removed_worktrees(mirror)
    answer = None
    try:
        answer = run_git(mirror, arguments, until=Until(seconds, watch), inherit=(lock,), limits=limits)
    finally:
        if answer is None or answer.code:
            _remove_unfinished_packs(mirror)
    if answer.code:
        for name in _LOCKED.findall(answer.errors):
            path = Path(name) if Path(name).is_absolute() else mirror / name
            if path.is_relative_to(mirror):
                path.unlink(missing_ok=True)
    return answer


def _remove_unfinished_packs(mirror: Path) -> None:
    """Remove what an interrupted git wrote; by itself, git keeps such a pack of any size for two weeks."""
    for pattern in ("tmp_*", ".tmp-*"):
        for path in (mirror / "objects/pack").glob(pattern):
            path.unlink(missing_ok=True)


def has_commit(repository: Path, commit: str) -> bool:
    """Return whether a repository exists and has a commit, given by its ID."""
    return repository.exists() and run_git(repository, ("cat-file", "-e", f"{commit}^{{commit}}")).code == 0


def check_out(
    mirror: Path, commit: str, place: Path, what: str, watch: Callable[[], None] = unwatched
) -> tuple[str, ...]:
    """Check out a commit into a directory that is empty or missing; it is no work tree of git afterwards.

    Returns:
        The paths that Git LFS stores elsewhere if they are pointer files.

    Raises:
        Transient: git failed; ``what`` names the repository.
    """
    with locked(mirror, LOCAL_SECONDS, watch) as lock:
        arguments = ("worktree", "add", "--detach", "--force", "--quiet", str(place), commit)
        run_locked(mirror, arguments, lock, watch=watch).checked(f"checkout of {what} at {commit}")
        marked = _filtered_by_lfs(place, what)
        # The file shows a path of the host.
        (place / ".git").unlink()
    return marked


def _filtered_by_lfs(place: Path, what: str) -> tuple[str, ...]:
    """List the paths that ``.gitattributes`` marks; quick if no such file names the filter."""
    try:
        paths = run_git(place, ("ls-files", "-z")).checked(f"git ls-files in {what}").output
    except BadInput:  # too many files to look for the filter in each
        return ()
    attributes = [
        os.fsdecode(path) for path in paths.split(b"\0") if path.rpartition(b"/")[2] == b".gitattributes"
    ]
    if not any(_LFS in _head_of(place / path) for path in attributes):
        return ()
    arguments = ("check-attr", "-z", "--stdin", "--cached", "filter")
    answer = run_git(place, arguments, given=paths).checked(f"git check-attr in {what}")
    fields = iter(answer.output.split(b"\0"))
    return tuple(
        os.fsdecode(path) for path, _, value in zip(fields, fields, fields, strict=False) if value == b"lfs"
    )


def _head_of(path: Path) -> bytes:
    """Read a file of a checkout up to the size above which git ignores its attributes; follow no link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_ATTRIBUTES_BYTES)


def forget_removed_worktrees(mirror: Path) -> None:
    """Remove the mirror's records of missing and unfinished work trees."""
    for record in (mirror / "worktrees").glob("*"):
        link = record / "gitdir"
        # It names the directory's ``.git``, which ``check_out`` removes at once.
        if not link.exists() or not Path(link.read_text().strip()).parent.exists():
            remove_tree(record)
