"""Divide the costs of the last timed loop among the functions that Callgrind's dumps show."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.measuring.callgrind_loop import last_loop
from service.domain.values.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from service.domain.measuring.callgrind_loop import Loop

MOST: Final = 30  # functions of a loop that are kept
MOST_BYTES: Final = 4000  # of a loop's functions as JSON: a record has them of each benchmark and side
_MOST_COMPARED: Final = 1000  # functions of a loop that is not recorded
_DEEPEST: Final = 64  # calls of libraries by libraries; deeper ones stay where they are
_MOST_CALLS: Final = 200_000  # pairs of a callee and a caller; real loops have far less
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


class Divided(NamedTuple):
    """Costs of a loop by function of the program, for each group of columns, then of callees.

    ``calls`` counts those of each function by others. ``functions`` are those with most instructions.
    """

    costs: tuple[dict[str, float], ...]
    calls: dict[str, float]
    functions: tuple[FunctionCount, ...]


@dataclass(slots=True)
class _Part:
    """Costs of some columns; functions are numbers of the loop."""

    own: Counter[bytes] = field(default_factory=Counter)
    calls: defaultdict[bytes, Counter[bytes]] = field(default_factory=lambda: defaultdict(Counter))  # of, by


def functions(dumps: bytes) -> tuple[FunctionCount, ...]:
    """Return the functions that executed most of the last timed loop, the largest first.

    Raises:
        BadResults: the loop is incomplete or too large, or the functions do not add up to it.
    """
    loop = last_loop(dumps)
    (part,), _ = _read(loop, ())
    return _largest(loop, part)


def by_function(loop: Loop, columns: Sequence[Sequence[int]], callees: Sequence[frozenset[str]]) -> Divided:
    """Divide the last timed loop's costs by the functions of the program.

    Instances of the standard library's templates count as libraries. The ``columns`` of a group are added up.
    Of ``callees``, also in groups, the calls by others are counted for the function that makes them.

    Raises:
        BadResults: as :func:`functions`.
    """
    (instructions, *parts), called = _read(loop, columns)
    for group in callees:
        made, inside = Counter[bytes](), _inside(loop, called, group)
        for (of, by), number in called.items():
            if loop.names[of] in group and by not in inside:
                made[by] += number
        parts.append(_Part(made, instructions.calls))
    calls, foreign = defaultdict[str, float](float), loop.foreign
    for (of, by), number in called.items():
        if of not in loop.libraries and loop.names[of] != loop.names[by]:
            calls[loop.names[of]] += number
    costs = [defaultdict[str, float](float) for _ in parts]
    for found, part in zip(costs, parts, strict=True):
        for (by, _), cost in _folded(part, foreign).items():
            found[loop.names[by]] += cost
    return Divided(tuple(costs), calls, _largest(loop, instructions, _MOST_COMPARED))


def _read(loop: Loop, columns: Sequence[Sequence[int]]) -> tuple[list[_Part], Counter[tuple[bytes, bytes]]]:
    """Add up the instructions and other groups of columns, and the calls by (callee, caller)."""
    groups, called = ((0,), *columns), Counter[tuple[bytes, bytes]]()
    parts = [_Part() for _ in groups]
    for each in loop.costs():
        if each.calls:
            called[each.callee, each.function] += each.calls
        elif each.callee:
            continue
        for part, chosen in zip(parts, groups, strict=True):
            costs = part.calls[each.callee] if each.callee else part.own
            costs[each.function] += each.of(chosen)
    if len(called) > _MOST_CALLS:
        raise BadResults(f"the last timed loop has more than {_MOST_CALLS} different calls")
    if loop.total != str(parts[0].own.total()).encode():
        raise BadResults("the functions of the last timed loop do not add up to its instructions")
    return parts, called


def _largest(loop: Loop, part: _Part, most: int = MOST) -> tuple[FunctionCount, ...]:
    names, libraries = loop.names, loop.libraries
    spent, largest = Counter[tuple[str, str]](), dict[str, bytes]()
    for (by, of), cost in sorted(_folded(part, libraries).items(), key=lambda item: -item[1]):
        spent[names[by], names[of] if of else ""] += round(cost)
        largest.setdefault(names[by], by)
    kept, room = [], MOST_BYTES * most // MOST
    for (name, library), count in spent.most_common(most):
        callers = part.calls[largest[name]].items() if not library else ()
        others = {n: cost for n, cost in callers if n not in libraries and names[n] != name}
        caller = names[max(others, key=others.__getitem__)] if others else ""
        found = FunctionCount(name, count, library, caller)
        room -= len(json.dumps(found))
        if room < 0:
            break
        kept.append(found)
    return tuple(kept)


def _inside(loop: Loop, called: Collection[tuple[bytes, bytes]], group: frozenset[str]) -> set[bytes]:
    """Return a group's functions and those that only they call, as parts of an own ``operator new``."""
    callers, callees = Counter[bytes](), defaultdict[bytes, list[bytes]](list)
    for of, by in called:
        if of != by:
            callers[of] += 1
            callees[by].append(of)
    found = {number for number, name in loop.names.items() if name in group}
    pending = list(found)
    while pending:
        for of in callees[pending.pop()]:
            callers[of] -= 1
            if not callers[of] and of not in found:
                found.add(of)
                pending.append(of)
    return found


def _folded(part: _Part, libraries: Collection[bytes]) -> dict[tuple[bytes, bytes], float]:
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
