"""Keep a random ID of this installation of a host, so that a host set up anew is known to be another one."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from service.domain.values.errors import Unfit

_FILE: Final = "install"
_ROOT: Final = Path("/")


def installation_id(home: Path, root: Path = _ROOT) -> str:
    """Return the ID that is kept in the directory of a host; the first call makes it.

    Machines of a host may start at once: all get the same one. Raises Unfit if the directory cannot be used.
    """
    kept, new = home / _FILE, home / f"{_FILE}.{secrets.token_hex(4)}"
    try:
        home.mkdir(parents=True, exist_ok=True)
        if not kept.exists():
            made = secrets.token_hex(16)
            new.write_text(f"{made} {_signed(made, root)}\n", encoding="ascii")
            with suppress(FileExistsError):
                os.link(new, kept)  # never a half-written file, and never over that of another process
            new.unlink()
        return kept.read_text(encoding="ascii").split()[0]
    except (OSError, UnicodeDecodeError, IndexError) as error:
        raise Unfit(f"{kept}: cannot keep the ID of this installation: {error}") from error


def kept_name(machines: Path, name: str, root: Path = _ROOT) -> str:
    """Return the name under which this system's machine is known, although the system's name is ``name`` now.

    A home may be shared or copied: only a directory that this very system made gives its name, by
    ``/etc/machine-id``, and only if it is the only one.
    """
    if (machines / name / _FILE).exists():
        return name
    own = [kept.parent.name for kept in machines.glob(f"*/{_FILE}") if _is_own(kept, root)]
    return own[0] if len(own) == 1 else name


def _is_own(kept: Path, root: Path) -> bool:
    with suppress(OSError, UnicodeDecodeError, ValueError):
        made, signed = kept.read_text(encoding="ascii").split()
        return bool(signed) and signed == _signed(made, root)
    return False


def _signed(made: str, root: Path) -> str:
    """Tie an ID to this system; empty if the system has no ID of its own."""
    with suppress(OSError):
        return sha256(f"{made} {(root / 'etc/machine-id').read_text().strip()}".encode()).hexdigest()
    return ""
