"""List the instructions of address ranges with objdump, and read its listings."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.building.sandbox_command import Limits
from service.domain.measuring.formats.program import OUT, Invocation
from service.domain.measuring.function_names import function_name, shown_name
from service.domain.values.errors import BadResults
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from service.domain.measuring.callgrind_loop import Code

GAP: Final = "…"  # the text of an instruction that stands for others
MOST_BYTES: Final = 16 << 20  # of a listing
_FILE: Final = "listing"
# The arguments are triples: a file, and the addresses at which a range begins and ends. Options that name
# source lines need debug information, and print nothing without it.
_OBJDUMP: Final = (
    'while [ $# -gt 0 ]; do objdump -d --no-show-raw-insn{} --start-address="$2" --stop-address="$3" -- "$1"'
    " || exit; shift 3; done"
)
_LINES: Final = " -C -l --inlines"
_HOTTEST: Final = 10  # functions
_HOT: Final = 0.01  # of the loop's instructions that the program itself executed
_LONGEST: Final = 1 << 16  # bytes of a function
_MOST_TEXT: Final = 120  # characters of an instruction
_MOST_NAME: Final = 60  # of a function in it
_LONGEST_PATH: Final = 500
_READ: Final = 4000  # characters of a line; template arguments can have more
_NOWHERE: Final = ("", 0)
_GENERATED: Final = "build/"

_OBJECT: Final = re.compile(r"(.+): +file format ")
_INSTRUCTION: Final = re.compile(r" *([0-9a-f]{1,16}):\t(.+)")
_LINE: Final = re.compile("[0-9]{1,9}")
_INLINED: Final = "inlined by "
_DATA: Final = re.compile(r"0x[0-9a-f]+(?=\(%rip\))")
_TARGET: Final = re.compile(r"(.*?[ ,])([0-9a-f]{1,16}) <(.+)")
_OFFSET: Final = re.compile(r"\+0x[0-9a-f]{1,16}$")
_JUMP: Final = re.compile(r"\b(j[a-z]+|call[a-z]*) .*")
_ADDRESS: Final = re.compile(r"-?0x[0-9a-f]{5,}|-?0x[0-9a-f]+(?=\(%rip\))")
_PADDING: Final = re.compile(r"(?:data16|cs|nop|endbr|xchg +%ax,%ax)")
_PACKED: Final = re.compile(
    r"v?(?:(?:add|sub|addsub|mul|div|sqrt|max|min|hadd|dp|round|rcp|rsqrt|cmp[a-z]*|blendv?|fn?m(?:add|sub)[0-9]+)p[sd]"
    r"|cvt(?:dq|ps|pd|tps|tpd)2[a-z]+"
    r"|p(?:add|sub|mul|madd|max|min|avg|sad|cmp|sll|srl|sra|and|or|xor|shuf|unpck|blend|sign|abs|movmsk|movs|movz)[a-z0-9]*)"
    r" +(.*)"
)


Range = tuple[str, int, int]
"""A program or library, and the addresses of its first instruction and behind the last."""


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


def hottest(code: Collection[Code]) -> list[Range]:
    """Choose the functions that executed most instructions, the hottest first."""
    least = max(1, _HOT * sum(each.executed.total() for each in code))
    ranked = sorted(code, key=lambda each: -each.executed.total())[:_HOTTEST]
    hot = [each for each in ranked if each.executed.total() >= least and each.path.startswith("/")]
    found = [(each.path, min(each.executed), max(each.executed) + 1) for each in hot]
    return [each for each in found if each[2] - each[1] <= _LONGEST]


def list_of(ranges: Iterable[Range], seconds: float, *, has_lines: bool = False) -> Invocation:
    """List the instructions of these ranges, in at most ``seconds``; with source lines if asked for."""
    line = f'{{ {_OBJDUMP.format(_LINES if has_lines else "")}; }} >"{OUT}/{_FILE}"'
    limits = Limits(seconds, file_bytes=MOST_BYTES)
    return Invocation(line, tuple(map(str, chain(*ranges))), limits, file=_FILE)


def executed(code: Iterable[Code], listing: bytes, iterations: int) -> dict[str, float]:
    """Count the listed instructions per iteration, by their text without addresses, without padding.

    Raises:
        BadResults: the listing is too long.
    """
    texts = {(file, each.address): each.text for file, each in _listed(listing, ())}
    rates = Counter[str]()
    for each in code:
        for address, count in each.executed.items():
            text = texts.get((each.path, address), "").partition("#")[0].partition("<")[0].strip()
            if text and not _PADDING.match(text):
                rates[_ADDRESS.sub("", _JUMP.sub(r"\1", text))] += count
    return {text: count / iterations for text, count in rates.items()}


def packed(rates: Mapping[str, float]) -> float:
    """Add up the instructions that compute with several values at once; clearing a register is none."""
    found = 0.0
    for text, rate in rates.items():
        operands = match[1].split(",") if (match := _PACKED.match(text)) else []
        if len(operands) > 1 and not ("xor" in text.split()[0] and len(set(operands)) == 1):
            found += rate
    return found


def instructions(listing: bytes, roots: Collection[str]) -> tuple[Instruction, ...]:
    """Read a listing with lines; ``roots`` are names of the source tree in debug information.

    An inlined instruction of another library gets the line of the repository that it was inlined into.

    Raises:
        BadResults: the listing is too long.
    """
    return tuple(_named(each) for _, each in _listed(listing, roots))


def _listed(listing: bytes, roots: Collection[str]) -> Iterator[tuple[str, Instruction]]:
    """Read instructions as objdump writes them, each with the file that has it."""
    if len(listing) > MOST_BYTES:
        raise BadResults(f"the listing has more than {MOST_BYTES >> 20} MiB")
    file, is_new = "", False
    first = place = _NOWHERE  # the innermost, and the innermost in the repository
    for line in listing.decode("utf-8", "replace").split("\n"):
        cut = line[:_READ]
        if code := _INSTRUCTION.fullmatch(cut):
            yield file, Instruction(int(code[1], 16), code[2], path=place[0], line=place[1])
            is_new = True
        elif found := _OBJECT.match(cut):
            file = found[1]
        else:
            path, _, digits = cut.partition(" (")[0].rpartition(":")
            if not path or not _LINE.fullmatch(digits):
                continue
            # What did not change since the last instruction is not printed again.
            source = repository_path(path.removeprefix(_INLINED), roots)
            where = (source, int(digits)) if source else _NOWHERE
            if not path.startswith(_INLINED):
                first = place = where
            elif is_new:
                place = first
            place, is_new = place if place[0] else where, False


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


def _named(found: Instruction) -> Instruction:
    text, _, symbol = " ".join(found.text.split()).partition(" # ")  # data, relative to the program counter
    if symbol and (data := _DATA.search(text)):
        text = f"{text[: data.start()]}{_name(symbol.partition(' <')[2])}{text[data.end() :]}"
    target, symbol = 0, ""
    if jump := _TARGET.fullmatch(text):
        text, target, symbol = jump[1], int(jump[2], 16), _name(jump[3])
    return found._replace(text=plain(text, _MOST_TEXT), target=target, symbol=symbol)


def _name(raw: str) -> str:
    raw = raw.removesuffix(">")
    offset = _OFFSET.search(raw)
    at = offset.start() if offset else len(raw)
    return shown_name(function_name(raw[:at].encode(), "?"), _MOST_NAME) + raw[at:]
