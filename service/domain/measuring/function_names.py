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
_LEFT_OUT: Final = f"<{ELLIPSIS}>"
_DIGEST: Final = re.compile(rf"<[0-9a-f]{{{_DIGITS}}}>")
_BRACKETS: Final = re.compile("([<>])")
_BRACKETS_AND_SPACES: Final = re.compile(r"[<>(){} ]|\boperator\b")
_QUALIFIERS: Final = re.compile(r"(?: const| volatile| &&?)*")


def file_name(path: bytes) -> str:
    """Clean the name of a file, to name its functions that have no name."""
    return function_name(path[-LINE_BYTES:].rpartition(b"/")[2], "?")


def function_name(raw: bytes, file: str) -> str:
    """Clean a function's name and cut its return type, arguments and suffixes off.

    A function without a name, as in a stripped program, gets the name of its ``file``. A name longer than
    :data:`LONGEST` loses its template arguments, or else its middle, and gets a digest of the whole name, so
    that it stays distinct.
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
    name = plain(_without_return_type(name), _MOST_BYTES) or "?"
    if len(name) <= LONGEST:
        return name
    digest = sha256(name.encode()).hexdigest()[:_DIGITS]
    before, place, after = without_brackets(name).rpartition(_LEFT_OUT)
    if place and len(before) + len(after) <= LONGEST - _DIGITS - 2:
        return f"{before}<{digest}>{after}"
    return both_ends(name, LONGEST, f"{ELLIPSIS}{digest}{ELLIPSIS}")


def shown_name(name: str, most: int) -> str:
    """Shorten a name for a message: leave out what is in angle brackets, then the middle."""
    name = _DIGEST.sub(_LEFT_OUT, name)
    return both_ends(without_brackets(name), most) if len(name) > most else name


def without_brackets(name: str) -> str:
    """Leave out template arguments, unless their brackets do not match or may belong to an operator."""
    if "operator" in name:
        return name
    parts, depth = [], 0
    for piece in _BRACKETS.split(name):
        depth -= piece == ">"
        if not depth:
            parts.append({"<": _LEFT_OUT, ">": ""}.get(piece, piece))
        depth += piece == "<"
        if depth < 0:
            return name
    return name if depth else "".join(parts)


def _without_return_type(name: str) -> str:
    """Cut off what stands before the last space outside of brackets; only templates have return types."""
    depth = begin = 0
    for found in _BRACKETS_AND_SPACES.finditer(name):
        piece = found[0]
        if piece == "operator":
            if not depth:
                break
        elif piece != " ":
            depth += 1 if piece in "<({" else -1
        elif not depth:
            begin = found.end()
    return name if depth else name[begin:].strip() or name
