"""Runs another program to its end."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from tools.gerrit_dev.reporting import CannotServe

if TYPE_CHECKING:
    from collections.abc import Mapping


def output_of(*words: str, environment: Mapping[str, str] | None = None) -> str:
    """What the program prints, with these variables beside those that are set.

    Raises:
        CannotServe: it is not there or failed; holds what it said about that.
    """
    try:
        done = subprocess.run(  # noqa: S603  # words of our own and of the person who runs this
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
        said = (done.stderr.strip() or done.stdout.strip()).replace("\n", "\n  ")
        raise CannotServe(f"{' '.join(words)} ended with {done.returncode}:\n  {said}")
    return done.stdout.strip()
