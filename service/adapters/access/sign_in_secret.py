"""Keep the sign-in secret of this machine's user in a file that only they can read."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_FILE: Final = "sign-in"
_BYTES: Final = 32


def renew_secret(home: Path) -> str:
    """Write a new secret into a home, and return it; an earlier one is of no use any more."""
    secret = secrets.token_urlsafe(_BYTES)
    path = home / _FILE
    path.unlink(missing_ok=True)
    # Created anew with these rights: others never have the file open.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secret)
    return secret


def remove_secret(home: Path) -> None:
    """Remove the secret of a home: nobody signs in by it any more."""
    (home / _FILE).unlink(missing_ok=True)


def read_secret(home: Path) -> str:
    """Read the secret of a home; empty if there is none."""
    try:
        return (home / _FILE).read_text(encoding="ascii")
    except FileNotFoundError:
        return ""
