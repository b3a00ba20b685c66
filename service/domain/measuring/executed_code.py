"""Read which instructions the hottest functions of a timed loop executed, from a disassembly by objdump."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.measuring.callgrind_functions import Code

# Its arguments are triples: a file, and the addresses at which a function begins and ends.
LISTING: Final = (
    'while [ $# -gt 0 ]; do objdump -d --no-show-raw-insn --start-address="$2" --stop-address="$3" -- "$1"'
    " || exit; shift 3; done"
)
_HOTTEST: Final = 10  # functions
_HOT: Final = 0.01  # of the loop's instructions that the program itself executed
_LONGEST: Final = 1 << 16  # bytes of a function
_MOST_BYTES: Final = 16 << 20  # of a listing
_FILE: Final = re.compile(r"(.+): +file format ")
_LINE: Final = re.compile(r" *([0-9a-f]{1,16}):\t([^#<]*)")
_TARGET: Final = re.compile(r"\b(j[a-z]+|call[a-z]*) .*")
_ADDRESS: Final = re.compile(r"-?0x[0-9a-f]{5,}|-?0x[0-9a-f]+(?=\(%rip\))")
_NOTHING: Final = re.compile(r"(?:data16|cs|nop|endbr|xchg +%ax,%ax)")
_PACKED: Final = re.compile(
    r"v?(?:(?:add|sub|addsub|mul|div|sqrt|max|min|hadd|dp|round|rcp|rsqrt|cmp[a-z]*|blendv?|fn?m(?:add|sub)[0-9]+)p[sd]"
    r"|cvt(?:dq|ps|pd|tps|tpd)2[a-z]+"
    r"|p(?:add|sub|mul|madd|max|min|avg|sad|cmp|sll|srl|sra|and|or|xor|shuf|unpck|blend|sign|abs|movmsk|movs|movz)[a-z0-9]*)"
    r" +(.*)"
)


def places(code: Mapping[str, Code]) -> tuple[str, ...]:
    """Choose the hottest functions, and return the arguments of :data:`LISTING` for them."""
    spent = {name: sum(each.executed.values()) for name, each in code.items()}
    least = max(1, _HOT * sum(spent.values()))
    hot = sorted((name for name in code if spent[name] >= least), key=lambda name: -spent[name])
    found = []
    for name in hot[:_HOTTEST]:
        first, last = min(code[name].executed), max(code[name].executed)
        if code[name].path.startswith("/") and last - first < _LONGEST:
            found += [code[name].path, str(first), str(last + 1)]
    return tuple(found)


def executed(code: Mapping[str, Code], listing: bytes, iterations: int) -> dict[str, float]:
    """Count the listed instructions per iteration, by their text without addresses, without padding.

    Raises:
        BadResults: the listing is too long.
    """
    if len(listing) > _MOST_BYTES:
        raise BadResults(f"the listing has more than {_MOST_BYTES >> 20} MiB")
    texts, path = dict[tuple[str, int], str](), ""
    for line in listing.decode("utf-8", "replace").split("\n"):
        if file := _FILE.fullmatch(line.partition("elf")[0]):
            path = file[1]
        elif found := _LINE.match(line):
            texts[path, int(found[1], 16)] = _TARGET.sub(r"\1", found[2].strip())
    rates = Counter[str]()
    for each in code.values():
        for address, count in each.executed.items():
            text = texts.get((each.path, address), "")
            if text and not _NOTHING.match(text):
                rates[_ADDRESS.sub("", text)] += count
    return {text: count / iterations for text, count in rates.items()}


def packed(rates: Mapping[str, float]) -> float:
    """Add up the instructions that compute with several values at once; clearing a register is none."""
    found = 0.0
    for text, rate in rates.items():
        operands = match[1].split(",") if (match := _PACKED.match(text)) else []
        if len(operands) > 1 and not ("xor" in text.split()[0] and len(set(operands)) == 1):
            found += rate
    return found
