"""The repository of the person at the desk, asked in that person's own environment."""

from __future__ import annotations

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
    try:
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)  # noqa: S603 - git
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"git does not answer: {error}", str(repository)) from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise BadInput(
            f"there is no revision {revision!r}: {said[-1] if said else 'git gave no reason'}",
            str(repository),
        )
    return done.stdout.split()[-1]
