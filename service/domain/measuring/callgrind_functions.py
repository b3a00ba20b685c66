"""Read from Callgrind's dumps which functions executed the instructions of the last timed loop."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.measuring.function_names import file_name, function_name
from service.domain.values.errors import BadResults
from service.domain.values.text import LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOP_ENDS: Final = b"desc: Trigger: --dump-before="  # parts without it are no timed loop
MOST: Final = 30  # functions of a loop that are kept
MOST_BYTES: Final = 4000  # of a loop's functions as JSON: a record has them of each benchmark and side
_NAMED: Final = re.compile(rb"^c?(fn|ob)=\(([0-9]{1,9})\) (.+)$", re.MULTILINE)
_PLACE: Final = re.compile(rb"(fn|ob|cfn|cob)=\(([0-9]{1,9})\)")
_POSITION: Final = rb"(0x[0-9a-f]{1,16}|[+-]?[0-9]{1,9}|\*)"
_COST: Final = re.compile(_POSITION + rb"(?: ([0-9]{1,18}(?: [0-9]{1,18}){0,15}))?")
_STANDARD: Final = ("std::", "__gnu_cxx::")
_BY_ADDRESS: Final = b"\npositions: instr\n"
_CALLS: Final = re.compile(rb"calls=([0-9]{1,18}) ")
_DEEPEST: Final = 64  # calls of libraries by libraries; deeper ones stay where they are
# A patch chooses what its program writes, and must not keep the worker busy. Real loops have far less.
_MOST_LOOP_BYTES: Final = 16 << 20
_MOST_READ: Final = 200_000  # functions, and as many calls between two of them
_MOST_FOLLOWED: Final = 1_000_000  # such pairs, as often as they are met again


class FunctionCount(NamedTuple):
    """Instructions (Ir) of one function in a timed loop.

    ``library`` names a function of a shared library that executed them when ``name`` called it; it is empty
    for the instructions of ``name`` itself. ``caller`` is the function of the program that called ``name``
    for most instructions, or empty.
    """

    name: str
    instructions: int
    library: str = ""
    caller: str = ""


class Code(NamedTuple):
    """Executions of a function's instructions, by their address in the file at ``path``."""

    path: str
    executed: Counter[int]


class Divided(NamedTuple):
    """Costs of a loop by function of the program, for each group of columns, then of callees.

    ``calls`` counts those of each function by others. ``code`` is empty if the dumps have no addresses.
    ``names`` are all functions of the loop, those of libraries too, and those that called it.
    """

    costs: tuple[dict[str, float], ...]
    calls: dict[str, float]
    code: dict[str, Code]
    names: frozenset[str]


@dataclass(slots=True)
class _Part:
    own: Counter[bytes] = field(default_factory=Counter)  # instructions by the number of the function
    calls: defaultdict[bytes, Counter[bytes]] = field(default_factory=lambda: defaultdict(Counter))  # of, by


@dataclass(slots=True)
class _Loop:
    """A loop's costs by group of columns, its calls by (callee, caller), and each function's object."""

    parts: tuple[_Part, ...]
    called: Counter[tuple[bytes, bytes]] = field(default_factory=Counter)
    objects: dict[bytes, bytes] = field(default_factory=dict)
    names: dict[bytes, str] = field(default_factory=dict)
    libraries: set[bytes] = field(default_factory=set)
    paths: dict[bytes, bytes] = field(default_factory=dict)  # of objects
    is_by_address: bool = False
    address: int = 0  # of the last line
    executed: defaultdict[bytes, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))

    def execute(self, function: bytes, position: bytes, count: int) -> None:
        """Follow the addresses of lines, and add up how often each is executed."""
        if position.startswith(b"0x"):
            self.address = int(position, 16)
        elif position[:1] in b"+-":
            self.address += int(position)
        if self.is_by_address and count:
            self.executed[function][self.address] += count

    def by_function(self, part: _Part) -> dict[str, float]:
        """Add the costs of a part up by function of the program, libraries' costs by their callers.

        Instances of the standard library's templates count as libraries: no patch changes them.
        """
        foreign = self.libraries | {n for n, name in self.names.items() if name.startswith(_STANDARD)}
        found = defaultdict[str, float](float)
        for (by, _), cost in _folded(part, foreign).items():
            found[self.names[by]] += cost
        return found

    def inside(self, group: frozenset[str]) -> set[bytes]:
        """Return a group's functions and those that only they call, as parts of an own ``operator new``."""
        callers, callees = Counter[bytes](), defaultdict[bytes, list[bytes]](list)
        for of, by in self.called:
            if of != by:
                callers[of] += 1
                callees[by].append(of)
        found = {number for number, name in self.names.items() if name in group}
        pending = list(found)
        while pending:
            for of in callees[pending.pop()]:
                callers[of] -= 1
                if not callers[of] and of not in found:
                    found.add(of)
                    pending.append(of)
        return found

    def code(self) -> dict[str, Code]:
        """Return the executed instructions of the program's functions."""
        found = dict[str, Code]()
        for number in self.executed.keys() - self.libraries:
            path = program_path(self.paths[self.objects[number]])
            known = found.get(self.names[number], Code(path, Counter()))
            if known.path == path:  # overloads, and parts that compilers split off
                found[self.names[number]] = Code(path, known.executed + self.executed[number])
        return found


def functions(dumps: bytes) -> tuple[FunctionCount, ...]:
    """Return the functions that executed most of the last timed loop, the largest first.

    Raises:
        BadResults: the loop is incomplete or too large, or the functions do not add up to it.
    """
    loop = _last_loop(dumps, ((0,),))
    (part,), names, libraries = loop.parts, loop.names, loop.libraries
    spent, largest = Counter[tuple[str, str]](), dict[str, bytes]()
    for (by, of), cost in sorted(_folded(part, libraries).items(), key=lambda item: -item[1]):
        spent[names[by], names[of] if of else ""] += round(cost)
        largest.setdefault(names[by], by)
    kept, room = [], MOST_BYTES
    for (name, library), count in spent.most_common(MOST):
        callers = part.calls[largest[name]].items() if not library else ()
        others = {n: cost for n, cost in callers if n not in libraries and names[n] != name}
        caller = names[max(others, key=others.__getitem__)] if others else ""
        found = FunctionCount(name, count, library, caller)
        room -= len(json.dumps(found))
        if room < 0:
            break
        kept.append(found)
    return tuple(kept)


def by_function(dumps: bytes, columns: Sequence[Sequence[int]], callees: Sequence[frozenset[str]]) -> Divided:
    """Divide the last timed loop's costs by the functions of the program.

    Args:
        dumps: as of :func:`functions`.
        columns: groups of columns; those of a group are added up.
        callees: groups of functions whose calls by others are counted, for the function that makes them.

    Raises:
        BadResults: as :func:`functions`.
    """
    loop = _last_loop(dumps, ((0,), *columns))
    found, instructions = [loop.by_function(part) for part in loop.parts[1:]], loop.parts[0]
    for group in callees:
        made, inside = Counter[bytes](), loop.inside(group)
        for (of, by), number in loop.called.items():
            if loop.names[of] in group and by not in inside:
                made[by] += number
        found.append(loop.by_function(_Part(made, instructions.calls)))
    calls = defaultdict[str, float](float)
    for (of, by), number in loop.called.items():
        if of not in loop.libraries and loop.names[of] != loop.names[by]:
            calls[loop.names[of]] += number
    return Divided(tuple(found), calls, loop.code(), frozenset(loop.names.values()))


def _last_loop(dumps: bytes, columns: Sequence[Sequence[int]]) -> _Loop:
    _, _, loop = dumps.rpartition(LOOP_ENDS)
    body, _, total = loop.partition(b"\ntotals: ")
    if len(body) > _MOST_LOOP_BYTES:
        raise BadResults(f"the last timed loop has more than {_MOST_LOOP_BYTES >> 20} MiB")
    found = _read(body, columns)
    part = found.parts[0]
    if max(len(found.objects), sum(map(len, part.calls.values()))) > _MOST_READ:
        raise BadResults(f"the last timed loop has more than {_MOST_READ} functions or calls")
    if total.split(b"\n", 1)[0].split(b" ")[0] != str(part.own.total()).encode():
        raise BadResults("the functions of the last timed loop do not add up to its instructions")
    used = {b"fn": set(found.objects), b"ob": set(found.objects.values())}
    # Earlier parts can name millions of others.
    known = {(it[1], it[2]): it[3] for it in _NAMED.finditer(dumps) if it[2] in used[it[1]]}
    paths = {of: known.get((b"ob", of), b"") for of in used[b"ob"]}
    foreign = {of for of, path in paths.items() if is_library(path[:LINE_BYTES], path[-LINE_BYTES:])}
    files = {of: file_name(path) for of, path in paths.items()}
    found.names = {n: function_name(known.get((b"fn", n), b""), files[of]) for n, of in found.objects.items()}
    found.libraries = {number for number, of in found.objects.items() if of in foreign}
    found.paths = paths
    return found


def program_path(raw: bytes) -> str:
    """Return the path of a program for the arguments of a command; empty if none can have it."""
    path = raw[: LINE_BYTES + 1].decode("utf-8", "replace")
    return path if len(path) <= LINE_BYTES and path.isprintable() else ""


def is_library(begin: bytes, end: bytes) -> bool:
    """Return whether a path is of a shared object that the build did not make."""
    return b".so" in end.rpartition(b"/")[2] and not begin.startswith((b"/build/", b"/src/"))


def _read(body: bytes, columns: Sequence[Sequence[int]]) -> _Loop:
    loop = _Loop(tuple(_Part() for _ in columns))
    loop.is_by_address = _BY_ADDRESS in body
    at, is_call, calls = dict.fromkeys((b"fn", b"ob", b"cfn", b"cob"), b""), False, 0
    for line in body.split(b"\n"):
        if place := _PLACE.match(line):
            at[place[1]] = place[2]
            if place[1] == b"fn":
                loop.objects[place[2]] = at[b"ob"]
        elif line.startswith(b"calls="):
            # A call that began before the loop has no number of calls, but the costs of all that it calls.
            is_call, calls = True, int(found[1]) if (found := _CALLS.match(line)) else 1
            loop.objects[at[b"cfn"]] = at[b"cob"] or at[b"ob"]
            at[b"cob"] = b""
        elif cost := _COST.fullmatch(line):
            loop.objects.setdefault(at[b"fn"], at[b"ob"])
            costs = [int(each) for each in (cost[2] or b"").split()]
            loop.execute(at[b"fn"], cost[1], 0 if is_call else sum(costs[:1]))
            if is_call and calls:
                loop.called[at[b"cfn"], at[b"fn"]] += calls
            for part, chosen in zip(loop.parts, columns, strict=True):
                # Callgrind leaves out the zeros at the end of a line.
                sum_of = sum(costs[column] for column in chosen if column < len(costs))
                if not is_call:
                    part.own[at[b"fn"]] += sum_of
                elif calls:
                    part.calls[at[b"cfn"]][at[b"fn"]] += sum_of
            is_call = False
    return loop


def _folded(part: _Part, libraries: set[bytes]) -> dict[tuple[bytes, bytes], float]:
    """Give what library functions executed to their callers, in proportion to the costs of the calls."""
    spent = defaultdict[tuple[bytes, bytes], float](float)
    spent.update({(number, b""): cost for number, cost in part.own.items() if number not in libraries})
    pending = {number: float(cost) for number, cost in part.own.items() if number in libraries}
    followed = 0
    for _ in range(_DEEPEST):
        followed += sum(len(part.calls[of]) for of in pending)
        if followed > _MOST_FOLLOWED:
            break
        further = defaultdict[bytes, float](float)
        for of, cost in pending.items():
            by = {number: weight for number, weight in part.calls[of].items() if number != of}
            whole = sum(by.values())
            if not whole:
                spent[of, b""] += cost
            for number, weight in by.items() if whole else ():
                share = cost * weight / whole
                if number in libraries:
                    further[number] += share
                else:
                    spent[number, of] += share
        pending = further
    for of, cost in pending.items():
        spent[of, b""] += cost
    return spent
