"""Draw the launch order and the environment pad of each pair, and group benchmarks into filters."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from service.domain.values.identity import Side

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAMES: Final = 100  # more make libbenchmark's regex slow; it fails at about 1,500
MAX_CHARACTERS: Final = 64 << 10  # Linux accepts at most 128 KiB as one argument
_PAD_STEP: Final = 16  # bytes: the stack's alignment; 256 steps are a page
_DRAWS: Final = 10_000  # per variant; more than the pairs that a policy may ask for
_SPECIAL: Final = re.compile(r"([\^$.*+?()\[{|\\])")


def threads_of(name: str) -> int:
    """Read the number of threads from a benchmark's name (``…/threads:4``)."""
    found = [part.removeprefix("threads:") for part in name.split("/") if part.startswith("threads:")]
    return int(found[-1]) if found and found[-1].isascii() and found[-1].isdigit() else 1


def side_order(seed: str, draw: int, variant: int = 0) -> tuple[Side, Side]:
    """Draw the order of the two launches of a pair, with equal probabilities, from the seed.

    Args:
        seed: of the build.
        draw: the number of earlier pairs of the variant that count.
        variant: of the programs; each has its own draws.
    """
    is_base_first = hashlib.sha256(f"{seed}/{variant * _DRAWS + draw}".encode()).digest()[0] & 1
    return (Side.BASE, Side.PATCH) if is_base_first else (Side.PATCH, Side.BASE)


def environment_pad(seed: str, pair: int, variant: int = 0) -> int:
    """Draw the bytes to add to the environment of both launches of a pair: a multiple of 16 below 4,096.

    The environment lies above the stack and shifts it; the alignment of hot data to cache lines and pages
    can change a time by more than the change under test (Mytkowicz and others, "Producing wrong data
    without doing anything obviously wrong", ASPLOS 2009). A new pad for each pair, equal on both sides,
    turns that bias into noise that averages out.
    """
    return _PAD_STEP * hashlib.sha256(f"{seed}/{variant * _DRAWS + pair}/pad".encode()).digest()[0]


def filter_for(names: Iterable[str]) -> str:
    """Write the ``--benchmark_filter`` that runs exactly ``names``, a group of :func:`groups_of`.

    Only special characters of libbenchmark's regular expressions are escaped: it refuses an escaped hyphen,
    closing bracket or closing brace, and then runs nothing.
    """
    return "^(" + "|".join(_escaped(name) for name in sorted(set(names))) + ")$"


def groups_of(
    names: Iterable[str], most: int = MAX_NAMES, characters: int = MAX_CHARACTERS
) -> tuple[tuple[str, ...], ...]:
    """Divide the names into groups for one launch each; their order does not matter.

    A group has at most ``most`` names, and its filter at most that many ``characters``.
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
