"""The next launches: random order within each pair, filters of what is still undecided."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from service.domain.values.identity import Side

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAMES: Final = 100  # libbenchmark's regex becomes slow, and fails beyond about 1,500 names
MAX_CHARACTERS: Final = 64 << 10  # Linux takes at most 128 KiB as one argument
_PAD_STEP: Final = 16  # bytes: the stack's alignment; 256 of them make a page
_DRAWS: Final = 10_000  # of one variant; more than the pairs that a policy may ask for
_SPECIAL: Final = re.compile(r"([\^$.*+?()\[{|\\])")


def threads_of(name: str) -> int:
    """The number of threads that a benchmark runs, by its name (``…/threads:4``)."""
    found = [part.removeprefix("threads:") for part in name.split("/") if part.startswith("threads:")]
    return int(found[-1]) if found and found[-1].isascii() and found[-1].isdigit() else 1


def side_order(seed: str, draw: int, variant: int = 0) -> tuple[Side, Side]:
    """Draw the order of the two launches of a pair: both with equal chances, fixed by seed and numbers.

    Args:
        seed: of the build.
        draw: how many pairs of the variant counted before this one.
        variant: of the programs; each has draws of its own.
    """
    is_base_first = hashlib.sha256(f"{seed}/{variant * _DRAWS + draw}".encode()).digest()[0] & 1
    return (Side.BASE, Side.PATCH) if is_base_first else (Side.PATCH, Side.BASE)


def environment_pad(seed: str, pair: int, variant: int = 0) -> int:
    """Draw the bytes to add to the environment of both launches of a pair: a multiple of 16 below 4,096.

    The environment lies above the stack and moves it; the place of hot data on cache lines and pages
    can change a time by more than the change under test (Mytkowicz and others, "Producing wrong data
    without doing anything obviously wrong", ASPLOS 2009). Drawn anew for each pair, and equal on both
    sides, it becomes noise that the pairs average out.
    """
    return _PAD_STEP * hashlib.sha256(f"{seed}/{variant * _DRAWS + pair}/pad".encode()).digest()[0]


def filter_for(names: Iterable[str]) -> str:
    """The ``--benchmark_filter`` that runs exactly ``names``, which should be one of :func:`groups_of`.

    Only the characters that libbenchmark's regular expressions treat specially are escaped: it refuses
    an escaped hyphen, closing bracket or closing brace, and then runs nothing.
    """
    return "^(" + "|".join(_escaped(name) for name in sorted(set(names))) + ")$"


def groups_of(
    names: Iterable[str], most: int = MAX_NAMES, characters: int = MAX_CHARACTERS
) -> tuple[tuple[str, ...], ...]:
    """The names in groups that one launch each can take: the same groups for the same names in any order.

    A group has at most ``most`` names, whose filter has at most that many ``characters``.
    """
    groups: list[list[str]] = []
    left = 0
    for name in sorted(set(names)):
        length = len(_escaped(name).encode()) + 1  # and a bar
        if not groups or len(groups[-1]) == most or length > left:
            groups.append([])
            left = characters - len("^()$")
        groups[-1].append(name)
        left -= length
    return tuple(tuple(group) for group in groups)


def _escaped(name: str) -> str:
    return _SPECIAL.sub(r"\\\1", name)
