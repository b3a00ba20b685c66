"""Take rights from files of untrusted programs, and remove their directories."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from service.domain.values.errors import Permanent

if TYPE_CHECKING:
    from pathlib import Path


def clear_special_rights(directory: Path) -> None:
    """Clear the set-user-ID and set-group-ID bits of ``directory`` and of all that it has."""
    # A fixed program of the system, which follows no symbolic link that it finds.
    argv = ["/bin/chmod", "-Rf", "ug-s", "--", str(directory.absolute())]
    # Its errors name files, so a program decides how long they are.
    subprocess.run(argv, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603


def remove_tree(directory: Path) -> None:
    """Remove ``directory`` with its content; do nothing if it does not exist.

    Programs may leave directories without permissions, and nest them deeper than Python can recurse.

    Raises:
        Permanent: a file cannot be removed (another user owns it, or it is a mount point).
    """
    path = str(directory.absolute())
    # Fixed programs of the system; neither follows a symbolic link out of the tree.
    first = subprocess.run(["/bin/rm", "-rf", "--", path], check=False, capture_output=True)  # noqa: S603
    if first.returncode == 0:
        return
    subprocess.run(["/bin/chmod", "-R", "u+rwX", "--", path], check=False, capture_output=True)  # noqa: S603
    second = subprocess.run(  # noqa: S603
        ["/bin/rm", "-rf", "--", path], check=False, capture_output=True, text=True, errors="replace"
    )
    if second.returncode != 0:
        lines = second.stderr.strip().splitlines()
        raise Permanent(f"{path} cannot be removed: {lines[0] if lines else second.returncode}")
