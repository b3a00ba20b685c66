"""Shorten the names of functions, so that both sides of a comparison call the same function alike."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

from service.domain.values.text import ELLIPSIS, LINE_BYTES, both_ends, plain

LONGEST: Final = 200  # characters of a name
_MOST_BYTES: Final = 1 << 16  # of a name; those of templates can have thousands
_DIGITS: Final = 16
# Compilers append these to parts and copies of a function, the linker to versions, Callgrind to recursions.
_SUFFIX: Final = re.compile(r" \[clone |\.(?:isra|constprop|part|cold|lto_priv|llvm)\b|@@?[A-Z]|'[0-9]+$")
_QUALIFIERS: Final = re.compile(r"(?: const| volatile| &&?)*")


def file_name(path: bytes) -> str:
    """Clean the name of a file, to name its functions that have no name."""
    return function_name(path[-LINE_BYTES:].rpartition(b"/")[2], "?")


def function_name(raw: bytes, file: str) -> str:
    """Clean a function's name and cut its arguments and suffixes off.

    A function without a name, as in a stripped program, gets the name of its ``file``. A name longer than
    :data:`LONGEST` keeps its ends, and a digest of the whole name between them, so that it stays distinct.
    """
    if not raw or raw.startswith((b"0x", b"???")):
        return file
    whole = plain(raw[:_MOST_BYTES].decode("utf-8", "replace"), _MOST_BYTES)
    suffix = _SUFFIX.search(whole, 1)
    name = whole[: suffix.start()] if suffix else whole
    end = name.rfind(")")
    if end > 0 and _QUALIFIERS.fullmatch(name, end + 1):
        depth = 0
        for at in range(end, 0, -1):
            depth += (name[at] == ")") - (name[at] == "(")
            if not depth:
                name = name[:at]
                break
    name = plain(name, _MOST_BYTES) or "?"
    digest = sha256(name.encode()).hexdigest()[:_DIGITS] if len(name) > LONGEST else ""
    return both_ends(name, LONGEST, f"{ELLIPSIS}{digest}{ELLIPSIS}")
