"""Name measured benchmarks that a claim may mean if none has the claimed name: they explain, never answer."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from service.domain.claims.answers import Obstacle, names_of
from service.domain.claims.values import NearName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from service.domain.claims.answers import Answered

    _Parts = defaultdict[str, list[str]]

MOST_COMPARED: Final = 5_000  # names of a run
_LONGEST: Final = 300  # characters; a longer name is near to none
_MOST_ALIKE: Final = 50  # names that a claimed one is compared with, for each way to be like it
_FIXTURE, _TEMPLATE, _ARGUMENTS, _FUNCTION = "fixture", "template arguments", "arguments", "function"
_OPTIONS: Final = (
    *("min_time", "min_warmup_time", "iterations", "repeats", "threads"),
    *("real_time", "process_time", "manual_time"),
)
_ARGUMENT: Final = re.compile(r"(?:[^:]*:)?-?[0-9][0-9.,]*[kKMGT]?i?")


def explained(found: Sequence[Answered], compared: Callable[[], Sequence[str]]) -> tuple[Answered, ...]:
    """Add near names to claims whose benchmark was not measured; a claimed name is near to no other claim.

    ``compared`` returns the names that the run compared; it is only called if there is such a claim.
    """
    missing = {each for each in found if each.obstacle is Obstacle.NO_BENCHMARK}
    plain = {each: min(names_of([each.claim]), key=len) for each in missing}  # without an aggregate
    claimed = {*names_of(each.claim for each in found)}
    names = [name for name in (compared() if missing else ()) if name not in claimed]
    near = near_names(plain.values(), names)
    return tuple(replace(each, near=near[plain[each]]) if each in missing else each for each in found)


def near_names(claimed: Iterable[str], compared: Sequence[str]) -> dict[str, tuple[NearName, ...]]:
    """Map each claimed name to at most two compared ones that it may mean, and that differ from it alike.

    They have the same function with other options, another fixture or other arguments. Of two fixtures, one
    is missing or an abbreviation. Few differences come first, then the order of ``compared``.
    """
    parts = {name: _parts(name) for name in compared[:MOST_COMPARED] if len(name) <= _LONGEST}
    alike: dict[object, list[str]] = {}
    for name, its in parts.items():
        for key in _keys(its):
            alike.setdefault(key, []).append(name)
    found = {}
    for name in set(claimed):
        its = _parts(name if len(name) <= _LONGEST else "")
        others = dict.fromkeys(other for key in _keys(its) for other in alike.get(key, ())[:_MOST_ALIKE])
        ranked = [(rank, other) for other in others if (rank := _rank(its, parts[other]))]
        best = min((rank for rank, _ in ranked), default=None)
        found[name] = tuple(NearName(other, rank[2]) for rank, other in ranked if rank == best)[:2]
    return found


def _parts(name: str) -> _Parts:
    """Sort the parts of a name by what they tell."""
    parts = defaultdict[str, list[str]](list)
    for part in name.split("/", 30):
        kind = part.partition(":")[0]
        if kind not in _OPTIONS:
            kind = _ARGUMENTS if _ARGUMENT.fullmatch(part) else _FIXTURE
        own, *template = part.split("<", 1) if kind is _FIXTURE else (part,)
        parts[kind].append(own)
        parts[_TEMPLATE] += template
    parts[_FUNCTION] = [parts[_FIXTURE].pop()] if any(parts[_FIXTURE]) else []
    return parts


def _keys(parts: _Parts) -> list[object]:
    """Return the function with the arguments and with the fixture: near names have one of them in common."""
    return [(kind, *parts[_FUNCTION], *parts[kind]) for kind in (_ARGUMENTS, _FIXTURE) if parts[_FUNCTION]]


def _rank(its: _Parts, other: _Parts) -> tuple[int, int, tuple[str, ...]] | None:
    """Count differences and different arguments; None if the other one is not near."""
    differs = tuple(each for each in (_FIXTURE, _TEMPLATE, _ARGUMENTS, *_OPTIONS) if its[each] != other[each])
    short, long = sorted(("/".join(each[_FIXTURE]).casefold() for each in (its, other)), key=len)
    rest = iter(long)
    if not differs or any(letter not in rest for letter in short):
        return None
    return len(differs), sum(a != b for a, b in zip_longest(its[_ARGUMENTS], other[_ARGUMENTS])), differs
