"""Check out one commit of a foreign repository without its history."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from service.adapters.sources.git.command import TOO_LARGE, TransferLimits, Until, run_git
from service.adapters.sources.git.moved import moved_to
from service.adapters.system.removal import remove_tree
from service.domain.values.errors import BadInput, NotFound
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_SECONDS: Final = 1200.0  # as a mirror's first fetch
_REF: Final = "refs/benchgate/pinned"
_FETCH: Final = (
    *("fetch", "--quiet", "--depth=1", "--no-tags"),
    *("--no-write-fetch-head", "--no-auto-maintenance", "--end-of-options"),
)
# As for a file: all but 408, 425 and 429. GitHub asks for a user if the repository does not exist.
_REFUSED: Final = re.compile(
    r"could not read Username|Authentication failed|returned error: (?:3|4(?!08|25|29))\d\d"
)


def check_out_pinned(
    url: str,
    commit: str,
    directory: Path,
    watch: Callable[[], None],
    *,
    most_entries: int,
    most_bytes: int,
) -> Path:
    """Fetch a commit, and return the directory with its files; submodules are empty directories.

    Args:
        url: of the repository; a caller has checked that it is allowed.
        commit: 40 hexadecimal digits.
        directory: an empty directory for the work; the returned one is in it.
        watch: called several times a second; may raise to end the work.
        most_entries: bound of the number of files.
        most_bytes: bound of the size of all files.

    Raises:
        BadInput: there is no such repository or commit, the repository moved, the commit is too large, or a
            symbolic link leads out of it.
        Transient: git or the server does not answer in time.
    """
    bare, tree = directory / "bare", directory / "tree"
    bare.mkdir()
    run_git(bare, ("init", "--bare", "--quiet", "--template=", "--initial-branch=none")).checked("git init")
    try:
        # The allowed host must not send git to another one, or fill the disk.
        limits = TransferLimits(url.partition(":")[0], most_bytes)
        words = (*_FETCH, url, f"+{commit}:{_REF}")
        answer = run_git(bare, words, until=Until(_SECONDS, watch), limits=limits)
        if answer.code and TOO_LARGE.search(answer.errors):
            raise BadInput(f"the commit has more than {most_bytes >> 20} MiB", plain(url))
        if moved := moved_to(url, answer):
            raise BadInput(f"the repository moved: name its new address, {plain(moved)}", plain(url))
        if answer.code and _REFUSED.search(answer.errors):
            why = "there is no such repository, or this machine has no access to it"
            raise BadInput(f"the server refuses: {why}", plain(url))
        answer.checked(f"fetch of {plain(url)}")
    except NotFound as error:
        raise BadInput(str(error)) from None
    found = run_git(bare, ("rev-parse", "--verify", "--quiet", f"{_REF}^{{commit}}"))
    if found.line() != commit:
        raise BadInput(f"{commit} is no commit there", plain(url))
    _check_size(bare, commit, most_entries, most_bytes, url)
    arguments = ("worktree", "add", "--detach", "--force", "--quiet", str(tree), commit)
    run_git(bare, arguments, until=Until(watch=watch)).checked(f"checkout of {plain(url)}")
    (tree / ".git").unlink()  # it shows a path of the host
    remove_tree(bare)
    _check_links(tree, url)
    return tree


def _check_size(bare: Path, commit: str, most_entries: int, most_bytes: int, url: str) -> None:
    """Check sizes before a file is written: a small pack can hold any number of equal files."""
    listed = run_git(bare, ("ls-tree", "-r", "-l", "-z", "--full-tree", commit)).checked("git ls-tree").output
    sizes = [entry.partition(b"\t")[0].split()[3] for entry in listed.split(b"\0") if entry]
    if len(sizes) > most_entries:
        raise BadInput(f"the commit has more than {most_entries} files", plain(url))
    if sum(int(size) for size in sizes if size != b"-") > most_bytes:
        raise BadInput(f"the files of the commit are larger than {most_bytes >> 20} MiB", plain(url))


def _check_links(tree: Path, url: str) -> None:
    root = os.path.join(os.path.realpath(tree), "")  # noqa: PTH118 - a prefix of texts
    for folder, names, files in os.walk(tree):
        for path in (os.path.join(folder, name) for name in (*names, *files)):  # noqa: PTH118 - as above
            if not os.path.islink(path):  # noqa: PTH114 - as above
                continue
            target = os.readlink(path)  # noqa: PTH115 - as above
            if os.path.isabs(target) or not f"{os.path.realpath(path)}/".startswith(root):  # noqa: PTH117 - as above
                name = plain(os.path.relpath(path, tree))
                raise BadInput(f"the symbolic link {name!r} leads out of the commit", plain(url))
