"""Read from Callgrind's dumps which functions executed the instructions of the last timed loop."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from service.domain.measuring.function_names import file_name, function_name
from service.domain.values.errors import BadResults
from service.domain.values.text import LINE_BYTES

LOOP_ENDS: Final = b"desc: Trigger: --dump-before="  # parts without it are no timed loop
MOST: Final = 30  # functions of a loop that are kept
MOST_BYTES: Final = 4000  # of a loop's functions as JSON: a record has them of each benchmark and side
_NAMED: Final = re.compile(rb"^c?(fn|ob)=\(([0-9]{1,9})\) (.+)$", re.MULTILINE)
_PLACE: Final = re.compile(rb"(fn|ob|cfn|cob)=\(([0-9]{1,9})\)")
_COST: Final = re.compile(rb"(?:[+-]?[0-9]{1,9}|\*)(?: ([0-9]{1,18}))?")
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


@dataclass(slots=True)
class _Part:
    own: Counter[bytes] = field(default_factory=Counter)  # instructions by the number of the function
    calls: defaultdict[bytes, Counter[bytes]] = field(default_factory=lambda: defaultdict(Counter))  # of, by
    objects: dict[bytes, bytes] = field(default_factory=dict)


def functions(dumps: bytes) -> tuple[FunctionCount, ...]:
    """Return the functions that executed most of the last timed loop, the largest first.

    Raises:
        BadResults: the loop is incomplete or too large, or the functions do not add up to it.
    """
    _, _, loop = dumps.rpartition(LOOP_ENDS)
    body, _, total = loop.partition(b"\ntotals: ")
    if len(body) > _MOST_LOOP_BYTES:
        raise BadResults(f"the last timed loop has more than {_MOST_LOOP_BYTES >> 20} MiB")
    part = _read(body)
    if max(len(part.objects), sum(map(len, part.calls.values()))) > _MOST_READ:
        raise BadResults(f"the last timed loop has more than {_MOST_READ} functions or calls")
    if total.split(b"\n", 1)[0] != str(part.own.total()).encode():
        raise BadResults("the functions of the last timed loop do not add up to its instructions")
    used = {b"fn": set(part.objects), b"ob": set(part.objects.values())}
    # Earlier parts can name millions of others.
    known = {(it[1], it[2]): it[3] for it in _NAMED.finditer(dumps) if it[2] in used[it[1]]}
    paths = {of: known.get((b"ob", of), b"") for of in used[b"ob"]}
    foreign = {of for of, path in paths.items() if _is_library(path[:LINE_BYTES], path[-LINE_BYTES:])}
    files = {of: file_name(path) for of, path in paths.items()}
    names = {n: function_name(known.get((b"fn", n), b""), files[of]) for n, of in part.objects.items()}
    libraries = {number for number, of in part.objects.items() if of in foreign}
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


def _is_library(begin: bytes, end: bytes) -> bool:
    """Return whether a path is of a shared object that the build did not make."""
    return b".so" in end.rpartition(b"/")[2] and not begin.startswith((b"/build/", b"/src/"))


def _read(body: bytes) -> _Part:
    part, at, is_call, is_new = _Part(), dict.fromkeys((b"fn", b"ob", b"cfn", b"cob"), b""), False, False
    for line in body.split(b"\n"):
        if place := _PLACE.match(line):
            at[place[1]] = place[2]
            if place[1] == b"fn":
                part.objects[place[2]] = at[b"ob"]
        elif line.startswith(b"calls="):
            # A call that began before the loop has no number of calls, but the costs of all that it calls.
            is_call, is_new = True, not line.startswith(b"calls=0 ")
            part.objects[at[b"cfn"]] = at[b"cob"] or at[b"ob"]
            at[b"cob"] = b""
        elif cost := _COST.fullmatch(line):
            part.objects.setdefault(at[b"fn"], at[b"ob"])
            if not is_call:
                part.own[at[b"fn"]] += int(cost[1] or 0)
            elif is_new:
                part.calls[at[b"cfn"]][at[b"fn"]] += int(cost[1] or 0)
            is_call = False
    return part


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
