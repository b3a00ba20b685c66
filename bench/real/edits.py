"""Edit a project's files: put text behind lines that occur once, or instead of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bench.real.projects import Edit


class CannotEdit(Exception):
    """A file lacks the place that an edit names."""


def edited(text: str | None, edit: Edit) -> str:
    """Apply an edit to a text; None stands for a missing file.

    Raises:
        CannotEdit: the lines do not occur, or more than once; or a new file exists.
    """
    lines = edit.after if edit.after is not None else edit.replace
    added = edit.insert if edit.insert.endswith("\n") or not edit.insert else f"{edit.insert}\n"
    if lines is None:
        if text is not None:
            raise CannotEdit(f"{edit.file} exists: name a line by `after` or `replace`")
        return added
    if text is None:
        raise CannotEdit(f"there is no file {edit.file}")
    anchor = lines.removesuffix("\n")
    found = list(re.finditer(rf"^{re.escape(anchor)}$\n?", text, re.MULTILINE))
    if len(found) != 1:
        raise CannotEdit(f"{edit.file} has {len(found)} times, not once: {anchor}")
    kept = "" if edit.after is None else found[0][0] if found[0][0].endswith("\n") else f"{found[0][0]}\n"
    return text[: found[0].start()] + kept + added + text[found[0].end() :]


def edit_file(top: Path, edit: Edit) -> None:
    """Apply an edit to its file below a directory.

    Raises:
        CannotEdit: as :func:`edited`, or the file is not text.
    """
    file = top / edit.file
    try:
        text = file.read_bytes().decode() if file.exists() else None  # line ends stay as they are
    except (OSError, UnicodeDecodeError) as error:
        raise CannotEdit(f"{edit.file}: {error}") from None
    changed = edited(text, edit)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(changed.encode())
