"""The developer's own repository, read in their own environment."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from service.domain.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path


def resolve_revision(repository: Path, revision: str) -> str:
    """Resolve a revision to a commit ID.

    Raises:
        BadInput: there is no repository, or no such revision.
    """
    words = ["git", "-C", str(repository), "rev-parse", "--verify"]
    words += ["--end-of-options", f"{revision}^{{commit}}"]
    english = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 - git
            words, check=False, capture_output=True, text=True, timeout=60, env=english
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"git does not answer: {error}", str(repository)) from None
    if done.returncode:
        where = str(repository.resolve())
        if "Needed a single revision" in done.stderr:  # the repository exists, the revision does not
            raise BadInput(f"there is no revision {revision!r}", where)
        messages = done.stderr.strip().splitlines()
        why = messages[-1].removeprefix("fatal: ") if messages else "git gave no reason"
        raise BadInput(f"git cannot resolve the revision {revision!r}: {why}", where)
    return done.stdout.split()[-1]
