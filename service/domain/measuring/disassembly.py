"""Read the instructions of an address range, and the source line of each, from objdump's listing."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.measuring.function_names import function_name, shown_name
from service.domain.values.errors import BadResults
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# -l and --inlines need debug information, and print nothing without it.
OBJDUMP: Final = "objdump -d -C -l --inlines --no-show-raw-insn"
GAP: Final = "…"  # the text of an instruction that stands for others
MOST_BYTES: Final = 8 << 20  # of a listing
_MOST_TEXT: Final = 120  # characters of an instruction
_MOST_NAME: Final = 60  # of a function in it
_LONGEST_PATH: Final = 500
_READ: Final = 4000  # characters of a line; template arguments can have more
_NOWHERE: Final = ("", 0)
_GENERATED: Final = "build/"

_INSTRUCTION: Final = re.compile(r" *([0-9a-f]{1,16}):\t(.+)")
_LINE: Final = re.compile("[0-9]{1,9}")
_INLINED: Final = "inlined by "
_DATA: Final = re.compile(r"0x[0-9a-f]+(?=\(%rip\))")
_TARGET: Final = re.compile(r"(.*?[ ,])([0-9a-f]{1,16}) <(.+)")
_OFFSET: Final = re.compile(r"\+0x[0-9a-f]{1,16}$")


class Instruction(NamedTuple):
    """An instruction, and its line in the repository.

    ``text`` names data and functions instead of their addresses. If it is a jump or a call, ``target`` is the
    address and ``symbol`` what is there; ``text`` is then what stands before the address. ``path`` is empty
    and ``line`` 0 if they are not known.
    """

    address: int
    text: str
    target: int = 0
    symbol: str = ""
    path: str = ""
    line: int = 0


def instructions(listing: bytes, roots: Collection[str]) -> tuple[Instruction, ...]:
    """Read the output of :data:`OBJDUMP`.

    An inlined instruction of another library gets the line of the repository that it was inlined into.

    Args:
        listing: standard output.
        roots: directories of the source tree, as debug information may name them.

    Raises:
        BadResults: the listing is too large.
    """
    if len(listing) > MOST_BYTES:
        raise BadResults(f"the disassembly has more than {MOST_BYTES >> 20} MiB")
    found, is_new = list[Instruction](), False
    first = place = _NOWHERE  # the innermost, and the innermost in the repository
    for line in listing.decode("utf-8", "replace").split("\n"):
        cut = line[:_READ]
        if code := _INSTRUCTION.fullmatch(cut):
            found.append(_instruction(int(code[1], 16), code[2], *(place if place[0] else _NOWHERE)))
            is_new = True
            continue
        path, _, number = cut.partition(" (")[0].rpartition(":")
        if path and _LINE.fullmatch(number):
            # What did not change since the last instruction is not printed again.
            where = repository_path(path.removeprefix(_INLINED), roots), int(number)
            if not path.startswith(_INLINED):
                first = place = where
            elif is_new:
                place = first
            place, is_new = place if place[0] else where, False
    return tuple(found)


def repository_path(path: str, roots: Collection[str]) -> str:
    """Return the path in the repository; empty if it lies outside, or where the build writes."""
    path = posixpath.normpath(path)
    if path.startswith("/"):
        root = next((each for each in roots if path.startswith(f"{each.rstrip('/')}/")), None)
        path = posixpath.relpath(path, root) if root else ""
    is_outside = path.startswith(("../", _GENERATED)) or path in {"", ".", ".."}
    return "" if is_outside or len(path) > _LONGEST_PATH or not path.isprintable() else path


def around(found: Sequence[Instruction], executed: Collection[int], context: int) -> list[Instruction]:
    """Keep executed instructions, and some others before and after each; ``GAP`` replaces the rest."""
    near = {at for at, each in enumerate(found) if each.address in executed}
    near = {at + by for at in near for by in range(-context, context + 1) if 0 <= at + by < len(found)}
    kept, last = list[Instruction](), -1
    for at in sorted(near):
        if kept and at != last + 1:
            kept.append(Instruction(0, GAP))
        kept.append(found[at])
        last = at
    return kept


def _instruction(address: int, raw: str, path: str, line: int) -> Instruction:
    text = " ".join(raw.split())
    text, _, symbol = text.partition(" # ")  # data, relative to the program counter
    if symbol and (data := _DATA.search(text)):
        text = f"{text[: data.start()]}{_name(symbol.partition(' <')[2])}{text[data.end() :]}"
    target, symbol = 0, ""
    if jump := _TARGET.fullmatch(text):
        text, target, symbol = jump[1], int(jump[2], 16), _name(jump[3])
    return Instruction(address, plain(text, _MOST_TEXT), target, symbol, path, line)


def _name(raw: str) -> str:
    raw = raw.removesuffix(">")
    offset = _OFFSET.search(raw)
    at = offset.start() if offset else len(raw)
    return shown_name(function_name(raw[:at].encode(), "?"), _MOST_NAME) + raw[at:]
