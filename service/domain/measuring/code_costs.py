"""Read from Callgrind's dumps what each instruction of a function cost in the last timed loop."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from service.domain.measuring.callgrind_functions import LOOP_ENDS, is_library
from service.domain.measuring.function_names import function_name
from service.domain.values.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_HEADER: Final = re.compile(rb"^(events|positions): ([A-Za-z0-9 ]{1,200})$", re.MULTILINE)
_NAMED: Final = re.compile(rb"^c?(fn|ob)=\(([0-9]{1,9})\) (.+)$", re.MULTILINE)
_USED: Final = re.compile(rb"^c?(fn|ob)=\(([0-9]{1,9})\)", re.MULTILINE)
_AT: Final = re.compile(rb"(fn|ob|cfn|cob)=\(([0-9]{1,9})\)")
_CALLS: Final = re.compile(rb"calls=([0-9]{1,18}) ")
_COST: Final = re.compile(rb"(0x[0-9a-f]{1,16}|[+-][0-9]{1,9}|\*)((?: (?:[+-]?[0-9]{1,18}|\*)){0,20})")
_MOST_BYTES: Final = 4 << 20  # of a loop; that of a large program has a half
_STANDARD: Final = ("std::", "__gnu_cxx::")  # instances of templates


@dataclass(frozen=True, slots=True)
class Code:
    """The instructions of one function that were executed, by address.

    Args:
        name: as the program has it, with its arguments.
        file: the program or shared library.
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
        None for a function without a symbol, and without addresses in the dumps.

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
    used = set(_USED.findall(body))
    known = {(it[1], it[2]): it[3] for it in _NAMED.finditer(dumps) if (it[1], it[2]) in used}
    names = {number: function_name(raw, "") for (kind, number), raw in known.items() if kind == b"fn"}
    chosen = [events.index(name.encode()) for name in columns if name.encode() in events]
    reader = _Reader(known, names, function, chosen, callees, len(positions) - 1, events.index(b"Ir"))
    for line in body.split(b"\n"):
        reader.read(line)
    return tuple(reader.found.values())


@dataclass(slots=True)
class _Reader:
    known: Mapping[tuple[bytes, bytes], bytes]
    names: Mapping[bytes, str]
    function: str
    columns: list[int]
    callees: Collection[str]
    more_positions: int
    instructions: int
    found: dict[tuple[bytes, bytes], Code] = field(default_factory=dict)
    at: dict[bytes, bytes] = field(default_factory=lambda: dict.fromkeys((b"fn", b"ob", b"cfn", b"cob"), b""))
    address: int = 0
    calls: int = -1  # of the next line; it is no call if negative

    def read(self, line: bytes) -> None:
        if place := _AT.match(line):
            self.at[place[1]] = place[2]
        elif called := _CALLS.match(line):
            self.calls = int(called[1])
        elif cost := _COST.fullmatch(line):
            position = cost[1]
            if position.startswith(b"0x"):
                self.address = int(position, 16)
            elif position != b"*":
                self.address = max(0, self.address + int(position))
            if self.names.get(self.at[b"fn"], "") == self.function:
                self._add([int(each) for each in cost[2].split()[self.more_positions :] if each != b"*"])
            if self.calls >= 0:
                self.calls, self.at[b"cob"] = -1, b""

    def _add(self, costs: list[int]) -> None:
        number, of = self.at[b"fn"], self.at[b"ob"]
        code = self.found.get((number, of))
        if code is None:
            file = self.known.get((b"ob", of), b"").decode("utf-8", "replace")
            code = self.found[number, of] = Code(self.known.get((b"fn", number), b""), file)
        cost = sum(costs[column] for column in self.columns if column < len(costs))
        if self.calls < 0:
            code.executed[self.address] += costs[self.instructions] if costs[self.instructions :] else 0
            code.costs[self.address] += cost
        elif self.callees:
            is_counted = self.names.get(self.at[b"cfn"]) in self.callees
            code.costs[self.address] += self.calls * is_counted
        elif self.calls and self._is_foreign():
            code.costs[self.address] += cost

    def _is_foreign(self) -> bool:
        """Return whether the called function is no project's, so that its costs are the caller's."""
        path = self.known.get((b"ob", self.at[b"cob"] or self.at[b"ob"]), b"")
        return is_library(path, path) or self.names.get(self.at[b"cfn"], "").startswith(_STANDARD)
