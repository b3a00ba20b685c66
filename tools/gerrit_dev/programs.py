"""Call other programs."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from tools.gerrit_dev.reporting import CannotServe

if TYPE_CHECKING:
    from collections.abc import Mapping


def output_of(*words: str, environment: Mapping[str, str] | None = None) -> str:
    """Run a program with additional environment variables, and return its output.

    Raises:
        CannotServe: the program is missing or failed; the message has its output.
    """
    try:
        done = subprocess.run(  # noqa: S603  # fixed arguments, and those of the user
            words,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise CannotServe(f"{words[0]}: {error.strerror}") from error
    if done.returncode != 0:
        output = f"{done.stderr}\n{done.stdout}".strip().replace("\n", "\n  ")
        raise CannotServe(f"{' '.join(words)} ended with {done.returncode}:\n  {output}")
    return done.stdout.strip()
