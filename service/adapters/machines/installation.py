"""Keep a random ID of this installation of a host, so that a host set up anew is known to be another one."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.domain.runs.health import SILENT_AFTER
from service.domain.values.errors import Unfit

if TYPE_CHECKING:
    from collections.abc import Callable

_FILE: Final = "install"
ROOT: Final = Path("/")
_MACHINE_ID: Final = re.compile("[0-9a-f]{32}")


def installation_id(home: Path, root: Path | None = None) -> str:
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


def kept_name(machines: Path, name: str, is_alive: Callable[[str], bool], root: Path | None = None) -> str:
    """Return the name under which this system's machine is known, although the system's name is ``name`` now.

    A home may be shared or copied: only a directory that this very system made gives its name, by
    ``/etc/machine-id``, and only if it is the only one. Copies of a system often have one ID, so the name is
    not taken while ``is_alive`` says that another machine works under it.
    """
    if (machines / name / _FILE).exists():
        return name
    own = [kept.parent.name for kept in machines.glob(f"*/{_FILE}") if _is_own(kept, root)]
    return own[0] if len(own) == 1 and not is_alive(own[0]) else name


def goes_on(silence: Callable[[], float | None], sleep: Callable[[float], None]) -> bool:
    """Return whether a machine still reports; after a report of the last minute, wait for the next one.

    ``silence`` returns the seconds since its last report; None: there was none.
    """
    limit = SILENT_AFTER.total_seconds()
    silent = silence()
    if silent is None or silent > limit:
        return False
    sleep(limit - silent + 1.0)
    again = silence()
    return again is not None and again <= limit


def _is_own(kept: Path, root: Path | None) -> bool:
    with suppress(OSError, UnicodeDecodeError, ValueError):
        made, signed = kept.read_text(encoding="ascii").split()
        return bool(signed) and signed == _signed(made, root)
    return False


def _signed(made: str, root: Path | None) -> str:
    """Tie an ID to this system; empty if the system has no ID of its own, as an image before its start."""
    with suppress(OSError, UnicodeDecodeError):
        own = ((root or ROOT) / "etc/machine-id").read_text(encoding="ascii").strip()
        if _MACHINE_ID.fullmatch(own):
            return sha256(f"{made} {own}".encode()).hexdigest()
    return ""
