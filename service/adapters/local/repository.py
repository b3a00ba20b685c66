"""The repository of the person at the desk, asked in that person's own environment."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from service.domain.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path


def resolve_revision(repository: Path, revision: str) -> str:
    """The commit id that a revision means there.

    Raises:
        BadInput: no repository, or no such revision.
    """
    words = [
        "git",
        "-C",
        str(repository),
        "rev-parse",
        "--verify",
        "--end-of-options",
        f"{revision}^{{commit}}",
    ]
    english = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 - git
            words, check=False, capture_output=True, text=True, timeout=60, env=english
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"git does not answer: {error}", str(repository)) from None
    if done.returncode:
        where = str(repository.resolve())
        if "Needed a single revision" in done.stderr:  # a repository, then, without that revision
            raise BadInput(f"there is no revision {revision!r}", where)
        said = done.stderr.strip().splitlines()
        why = said[-1].removeprefix("fatal: ") if said else "git gave no reason"
        raise BadInput(f"it cannot be asked for the revision {revision!r}: {why}", where)
    return done.stdout.split()[-1]
