"""Read the last timed loop of Callgrind's dumps: what its instructions cost, by function and address."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.measuring.function_names import file_name, function_name
from service.domain.values.errors import BadResults
from service.domain.values.text import LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

LOOP_ENDS: Final = b"desc: Trigger: --dump-before="  # parts without it are no timed loop
_EVENTS: Final = re.compile(rb"^events: ([A-Za-z0-9 ]{1,200})$", re.MULTILINE)
_BY_ADDRESS: Final = b"\npositions: instr\n"
_PLACE: Final = re.compile(rb"^(fn|ob|cfn|cob)=\(([0-9]{1,9})\)", re.MULTILINE)
_NAMED: Final = re.compile(rb"^c?(fn|ob)=\(([0-9]{1,9})\) (.+)$", re.MULTILINE)
_CALLS: Final = re.compile(rb"calls=([0-9]{1,18}) ")
_POSITION: Final = rb"(0x[0-9a-f]{1,16}|[+-]?[0-9]{1,9}|\*)"
_COST: Final = re.compile(_POSITION + rb"(?: ([0-9]{1,18}(?: [0-9]{1,18}){0,15}))?")
_STANDARD: Final = ("std::", "__gnu_cxx::")
# A patch chooses what its program writes, and must not keep the worker busy. Real loops have far less.
_MOST_BYTES: Final = 16 << 20
_MOST_FUNCTIONS: Final = 200_000


class Cost(NamedTuple):
    """Costs of a function's instruction by event, or of its calls of a ``callee`` with all that it calls.

    Functions are numbers of :class:`Loop`. A call that began before the loop is not one of the ``calls``.
    """

    function: bytes
    address: int
    costs: Sequence[int]  # zeros at the end may be missing
    callee: bytes = b""
    calls: int = 0

    def of(self, columns: Collection[int]) -> int:
        """Add up some columns."""
        return sum(self.costs[column] for column in columns if column < len(self.costs))


@dataclass(frozen=True, slots=True)
class Code:
    """Counts of one function's executed instructions by address, and another cost of each.

    ``path`` is empty if it is no argument for a command.
    """

    name: bytes
    path: str
    executed: Counter[int] = field(default_factory=Counter)
    costs: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Loop:
    """The last timed loop, and its functions by number.

    ``symbols`` are what the program calls them, ``names`` what messages do, ``paths`` their files. ``events``
    are the columns of costs, Ir first; ``total`` is the sum of that one, as Callgrind writes it.
    """

    body: bytes = b""
    total: bytes = b""
    events: tuple[str, ...] = ()
    symbols: Mapping[bytes, bytes] = field(default_factory=dict)
    paths: Mapping[bytes, bytes] = field(default_factory=dict)
    names: Mapping[bytes, str] = field(default_factory=dict)
    libraries: frozenset[bytes] = frozenset()  # functions of shared objects that the build did not make

    @property
    def foreign(self) -> frozenset[bytes]:
        """Functions that no patch changes: of libraries, or instances of the standard library's templates."""
        return self.libraries.union(n for n, name in self.names.items() if name.startswith(_STANDARD))

    def costs(self) -> Iterator[Cost]:
        """Read each line of costs.

        Callgrind writes positions relative to the last line that is no call, those of calls too.
        """
        function, called, callee, address, calls, is_call = b"", b"", b"", 0, 0, False
        for line in self.body.split(b"\n"):
            if place := _PLACE.match(line):
                if place[1] == b"fn":
                    function = place[2]
                elif place[1] == b"cfn":
                    called = place[2]
            elif found := _CALLS.match(line):
                callee, calls, is_call = called, int(found[1]), True
            elif cost := _COST.fullmatch(line):
                moved = _moved(address, cost[1])
                if function:
                    yield Cost(function, moved, [*map(int, (cost[2] or b"").split())], callee, calls)
                if not is_call:
                    address = moved
                callee, calls, is_call = b"", 0, False

    def code(
        self, function: str = "", columns: Collection[str] = (), callees: Collection[str] = ()
    ) -> tuple[Code, ...]:
        """Read the executed instructions of the program's functions; none if the dumps have no addresses.

        Args:
            function: only of those with this name, such as overloads.
            columns: the costs are the sums of these events.
            callees: or the costs are the calls of functions of these names.
        """
        if _BY_ADDRESS not in self.body:
            return ()
        wanted = self.names.keys() - self.libraries
        if function:
            wanted = {of for of in wanted if function_name(self.symbols[of], "") == function}
        chosen = [self.events.index(name) for name in columns if name in self.events]
        counted = {of for of, name in self.names.items() if name in callees} if callees else self.foreign
        executed, costs = (defaultdict[bytes, Counter[int]](Counter) for _ in range(2))
        for each in self.costs():
            if each.function not in wanted:
                continue
            if not each.callee:
                executed[each.function][each.address] += each.of((0,))
            elif not each.calls or each.callee not in counted:
                continue
            if cost := each.calls if callees else each.of(chosen):
                costs[each.function][each.address] += cost
        return tuple(
            Code(self.symbols[of], _argument(self.paths[of]), found, costs[of])
            for of, found in executed.items()
        )


def last_loop(dumps: bytes) -> Loop:
    """Read the functions of the last timed loop.

    Raises:
        BadResults: it is too large.
    """
    _, is_found, loop = dumps.rpartition(LOOP_ENDS)
    body, _, end = loop.partition(b"\ntotals: ") if is_found else (b"", b"", b"")
    if len(body) > _MOST_BYTES:
        raise BadResults(f"the last timed loop has more than {_MOST_BYTES >> 20} MiB")
    objects, own, called = dict[bytes, bytes](), b"", b""
    for kind, number in _PLACE.findall(body):
        if kind == b"ob":
            own = number
        elif kind == b"cob":
            called = number
        else:
            objects[number] = (called if kind == b"cfn" else b"") or own
            called = b""
    if len(objects) > _MOST_FUNCTIONS:
        raise BadResults(f"the last timed loop has more than {_MOST_FUNCTIONS} functions")
    used = {b"fn": objects.keys(), b"ob": {*objects.values()}}
    # Earlier parts can name millions of others.
    known = {(it[1], it[2]): it[3] for it in _NAMED.finditer(dumps) if it[2] in used[it[1]]}
    symbols = {number: known.get((b"fn", number), b"") for number in objects}
    paths = {number: known.get((b"ob", of), b"") for number, of in objects.items()}
    files = {path: file_name(path) for path in {*paths.values()}}
    foreign = {path for path in files if is_library(path[:LINE_BYTES], path[-LINE_BYTES:])}
    header = _EVENTS.search(dumps)
    return Loop(
        body,
        total=end.partition(b"\n")[0].partition(b" ")[0],
        events=tuple(header[1].decode().split(" ")) if header else ("Ir",),
        symbols=symbols,
        paths=paths,
        names={number: function_name(raw, files[paths[number]]) for number, raw in symbols.items()},
        libraries=frozenset(number for number, path in paths.items() if path in foreign),
    )


def is_library(begin: bytes, end: bytes) -> bool:
    """Return whether a path is of a shared object that the build did not make."""
    return b".so" in end.rpartition(b"/")[2] and not begin.startswith((b"/build/", b"/src/"))


def _argument(path: bytes) -> str:
    """Return a path for the arguments of a command; empty if none can have it."""
    text = path[: LINE_BYTES + 1].decode("utf-8", "replace")
    return text if len(text) <= LINE_BYTES and text.isprintable() else ""


def _moved(address: int, position: bytes) -> int:
    if position.startswith(b"0x"):
        return int(position, 16)
    return address if position == b"*" else max(0, address + int(position))
