"""The developer's clone: the place of its submodules, and where it was cloned from."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def read_clone(repository: Path) -> tuple[tuple[Path, ...], str]:
    """Return the directories in which git keeps submodules of a repository, and the URL of its origin.

    A work tree that `git worktree` added has a directory of its own besides that of the clone. `repo` gives
    the only remote another name than `origin`. The URL is empty if there is neither.
    """
    own = _ask(repository, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir")
    remotes = _ask(repository, "remote").split()
    name = remotes[0] if len(remotes) == 1 else "origin"
    origin = _ask(repository, "remote", "get-url", name)
    return tuple(dict.fromkeys(map(Path, own.splitlines()))), origin.strip()


def _ask(repository: Path, *words: str) -> str:
    """Run git in the developer's own environment; return nothing if it fails."""
    try:
        done = subprocess.run(  # noqa: S603 - git
            ["git", "-C", str(repository), *words],  # noqa: S607 - the developer's PATH
            check=False,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=60,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
