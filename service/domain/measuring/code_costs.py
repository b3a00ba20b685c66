"""Read from Callgrind's dumps what each instruction of a function cost in the last timed loop."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from service.domain.measuring.callgrind_functions import LOOP_ENDS, is_library, program_path
from service.domain.measuring.function_names import function_name
from service.domain.values.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Collection

_HEADER: Final = re.compile(rb"^(events|positions): ([A-Za-z0-9 ]{1,200})$", re.MULTILINE)
_PLACE: Final = re.compile(rb"^(c?)(fn|ob)=\(([0-9]{1,9})\)", re.MULTILINE)
_NAMED: Final = re.compile(_PLACE.pattern + rb" (.+)$", re.MULTILINE)
_CALLS: Final = re.compile(rb"calls=([0-9]{1,18}) ")
_ADDRESS: Final = rb"(0x[0-9a-f]{1,16}|[+-][0-9]{1,9}|\*)"
_LINE: Final = rb" (?:[+-]?[0-9]{1,9}|\*)"
_COSTS: Final = rb"((?: [0-9]{1,18}){0,16})"
_MOST_BYTES: Final = 4 << 20  # of a loop; that of a large program has a half
_STANDARD: Final = ("std::", "__gnu_cxx::")  # instances of templates


@dataclass(frozen=True, slots=True)
class Code:
    """The instructions of one function that were executed, by address.

    Args:
        name: as the program has it, with its arguments.
        file: the program or shared library; empty if its path is no argument for a command.
        executed: how often.
        costs: another count of each, with that of the libraries it calls.
    """

    name: bytes
    file: str
    executed: Counter[int] = field(default_factory=Counter)
    costs: Counter[int] = field(default_factory=Counter)


def code_costs(
    dumps: bytes, function: str, columns: Collection[str], callees: Collection[str] = ()
) -> tuple[Code, ...]:
    """Read the instructions of each function of this name, such as overloads.

    Args:
        dumps: Callgrind's output with ``--dump-instr=yes``.
        function: as :func:`function_name` writes it.
        columns: the costs are the sums of these.
        callees: or the costs are the calls of functions of these names.

    Returns:
        Nothing for a function without a symbol, and if the dumps have no addresses.

    Raises:
        BadResults: the loop is too large.
    """
    body = dumps.rpartition(LOOP_ENDS)[2].partition(b"\ntotals: ")[0]
    if len(body) > _MOST_BYTES:
        raise BadResults(f"the last timed loop has more than {_MOST_BYTES >> 20} MiB")
    header = {found[1]: found[2].split(b" ") for found in _HEADER.finditer(body)}
    positions, events = header.get(b"positions", []), header.get(b"events", [])
    if positions[:1] != [b"instr"] or b"Ir" not in events:
        return ()
    pattern = re.compile(_ADDRESS + _LINE * (len(positions) - 1) + _COSTS)
    known = _known(dumps, body)
    names = {number: function_name(raw, "") for (kind, number), raw in known.items() if kind == b"fn"}
    chosen = [events.index(name.encode()) for name in columns if name.encode() in events]
    instructions = events.index(b"Ir")
    found: dict[bytes, Code] = {}
    at = dict.fromkeys((b"fn", b"ob", b"cfn", b"cob"), b"")
    address, calls = 0, -1  # calls of the next line; it is no call if negative
    for line in body.split(b"\n"):
        if place := _PLACE.match(line):
            at[place[1] + place[2]] = place[3]
        elif called := _CALLS.match(line):
            calls = int(called[1])
        elif cost := pattern.fullmatch(line):
            address = _moved(address, cost[1])
            number, callee = at[b"fn"], names.get(at[b"cfn"], "")
            if names.get(number) == function:
                file = known.get((b"ob", at[b"ob"]), b"")
                code = found.setdefault(number, Code(known[b"fn", number], program_path(file)))
                costs = [*map(int, cost[2].split()), *(0 for _ in events)]  # zeros at the end are left out
                counted = sum(costs[column] for column in chosen)
                if calls < 0:
                    code.executed[address] += costs[instructions]
                else:
                    to = known.get((b"ob", at[b"cob"]), file)
                    counted = _of_call(calls, callee, callees, to, counted)
                code.costs[address] += counted
            if calls >= 0:
                calls, at[b"cob"] = -1, b""
    return tuple(found.values())


def _moved(address: int, position: bytes) -> int:
    if position.startswith(b"0x"):
        return int(position, 16)
    return address if position == b"*" else max(0, address + int(position))


def _known(dumps: bytes, body: bytes) -> dict[tuple[bytes, bytes], bytes]:
    used = {place.group(2, 3) for place in _PLACE.finditer(body)}
    return {(it[2], it[3]): it[4] for it in _NAMED.finditer(dumps) if it.group(2, 3) in used}


def _of_call(calls: int, callee: str, callees: Collection[str], file: bytes, cost: int) -> int:
    """Return what a call counts for its caller: the costs only if the function is no project's."""
    if callees:
        return calls * (callee in callees)
    is_foreign = is_library(file, file) or callee.startswith(_STANDARD)
    return cost if calls and is_foreign else 0
