"""Name measured benchmarks that a claim may mean if none has the claimed name: they explain, never answer."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from service.domain.claims.answers import Obstacle, names_of, plain_name
from service.domain.claims.values import NearName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from service.domain.claims.answers import AnsweredClaim

MOST_COMPARED: Final = 5_000  # names of a run
_LONGEST: Final = 300  # characters; a longer name is near to none
_MOST_ALIKE: Final = 100  # names of a function
_FIXTURE, _TEMPLATE, _ARGUMENTS = "fixture", "template arguments", "arguments"
_OPTIONS: Final = (
    *("min_time", "min_warmup_time", "iterations", "repeats", "threads"),
    *("real_time", "process_time", "manual_time"),
)
_words: Final = lru_cache(maxsize=1_000)(re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+").findall)
_ARGUMENT: Final = re.compile(r"(?:[^:]*:)?-?[0-9][0-9.,]*[kKMGT]?i?")


def explained(
    found: Sequence[AnsweredClaim], compared: Callable[[], Sequence[str]]
) -> tuple[AnsweredClaim, ...]:
    """Add near names to claims whose benchmark was not measured; a claimed name is near to no other claim.

    ``compared`` returns the names that the run compared; it is only called if there is such a claim.
    """
    missing = {each for each in found if each.obstacle == Obstacle.NO_BENCHMARK}
    plain = {each: plain_name(each.benchmark) for each in missing}
    claimed = {*names_of(found)}
    names = [name for name in (compared() if missing else ()) if name not in claimed]
    near = near_names(plain.values(), names)
    return tuple(replace(each, near=near[plain[each]]) if each in missing else each for each in found)


def near_names(claimed: Iterable[str], compared: Sequence[str]) -> dict[str, tuple[NearName, ...]]:
    """Map each claimed name to at most two compared ones that it may mean, and that differ from it alike.

    They have the same function with other options, another fixture or other arguments. Of two fixtures, one
    lacks parts of the other, or has its initials. Few differences come first, then the order of ``compared``.
    """
    alike = defaultdict[str, list[tuple[str, dict[str, list[str]]]]](list)
    for name in compared[:MOST_COMPARED]:
        function, parts = _parts(name)
        alike[function].append((name, parts))
    found = {}
    for name in set(claimed):
        function, its = _parts(name)
        others = alike[function][:_MOST_ALIKE] if function else ()
        ranked = [(rank, other) for other, parts in others if (rank := _rank(its, parts))]
        best = min((rank for rank, _ in ranked), default=None)
        found[name] = tuple(NearName(other, rank[2]) for rank, other in ranked if rank == best)[:2]
    return found


def _parts(name: str) -> tuple[str, dict[str, list[str]]]:
    """Return the name of the function, empty if the whole is long, and the other parts by what they tell."""
    parts: dict[str, list[str]] = {_FIXTURE: [], _ARGUMENTS: [], _TEMPLATE: []}
    for part in name.split("/", 30) if len(name) <= _LONGEST else ():
        kind = part.partition(":")[0]
        if kind not in _OPTIONS:
            kind = _ARGUMENTS if _ARGUMENT.fullmatch(part) else _FIXTURE
        own, *template = part.split("<", 1) if kind is _FIXTURE else (part,)
        parts.setdefault(kind, []).append(own)
        parts[_TEMPLATE] += template
    return parts[_FIXTURE].pop() if parts[_FIXTURE] else "", parts


def _rank(its: dict[str, list[str]], other: dict[str, list[str]]) -> tuple[int, int, tuple[str, ...]] | None:
    """Count differences and different arguments; None if the other one is not near."""
    kinds = (_FIXTURE, _TEMPLATE, _ARGUMENTS, *_OPTIONS)
    differs = tuple(kind for kind in kinds if its.get(kind) != other.get(kind))
    short, long = sorted((each[_FIXTURE] for each in (its, other)), key=lambda parts: len("/".join(parts)))
    rest = iter(long)
    is_short = all(any(_is_part(part, other) for other in rest) for part in short)
    if not is_short or {_FIXTURE, _ARGUMENTS} <= {*differs} or not differs:
        return None
    return len(differs), sum(a != b for a, b in zip_longest(its[_ARGUMENTS], other[_ARGUMENTS])), differs


def _is_part(part: str, other: str) -> bool:
    """Return whether a part of a fixture is the other one, or has initials of its words."""
    initials = (word[0].casefold() for word in _words(other))
    return part.casefold() == other.casefold() or all(letter in initials for letter in part.casefold())
