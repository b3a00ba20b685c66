"""Select the translation units that check changed files: those that changed, and those that include them."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from service.domain.measuring.lint.diagnostics import Roots

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from service.domain.measuring.lint.compile_commands import Unit

MOST_INCLUDING: Final = 20
"""Most units that are checked only because they include a changed file."""

MOST_OF_ONE: Final = 5
"""Most units that check one changed file: the first finds nearly everything, and each takes seconds."""

_MOST_STEPS: Final = 1_000_000  # of the search for units that include one file; a second's work
_INCLUDE: Final = b"include"


@dataclass(frozen=True, slots=True)
class Selection:
    """Units to check.

    Args:
        units: those that changed, then those that include changed files.
        including: number of them that include changed files that are no units.
        candidates: number of all units that do.
        without: changed files that belong to no unit; they are not checked.
    """

    units: tuple[Unit, ...]
    including: int = 0
    candidates: int = 0
    without: tuple[str, ...] = ()


def includes_in(output: bytes, sources: str = "") -> Mapping[str, tuple[str, ...]]:
    """Read the included names of each file from the output of ``grep --null``.

    Args:
        output: ``PATH``, a zero byte and the line, for each include line.
        sources: the directory of the sources on the host; in a sandbox they are in ``/src``.
    """
    roots = Roots(sources)
    found: dict[str, dict[str, None]] = {}
    for line in output.split(b"\n"):
        path, zero, text = line.partition(b"\0")
        name = text[text.find(_INCLUDE) + len(_INCLUDE) :].strip().strip(b'<>"')
        if zero and name:
            place, included = posixpath.normpath(path.decode(errors="replace")), name.decode(errors="replace")
            # CMake's unity builds include sources by absolute paths.
            included = roots.below(included) if included.startswith("/") else included
            found.setdefault(place, {})[included] = None
    return {path: tuple(names) for path, names in found.items()}


def units_for(
    changed: Collection[str], units: Iterable[Unit], includes: Mapping[str, tuple[str, ...]]
) -> Selection:
    """Select the units that check changed files.

    A changed unit is checked itself. Any other changed file is checked in the first few units that include
    it, directly or not: those that are checked anyway, then the nearest. Each file gets one before any gets
    two.

    Args:
        changed: paths relative to the sources, like all paths here.
        units: all translation units.
        includes: the included names of each file.
    """
    by_path: dict[str, Unit] = {}
    for unit in units:
        by_path.setdefault(unit.path or unit.file, unit)
    chosen = {path: by_path[path] for path in changed if path in by_path}
    others = [path for path in changed if path not in by_path]
    graph = _Includers(includes)
    nearest = {path: [place for place in graph.of(path) if place in by_path] for path in others}
    own = frozenset(chosen)
    wanted = [sorted(places, key=lambda place: place not in own)[:MOST_OF_ONE] for places in nearest.values()]
    for place in _in_turn(wanted):
        if len(chosen) - len(own) == MOST_INCLUDING:
            break
        chosen.setdefault(place, by_path[place])
    candidates = {place for places in nearest.values() for place in places}
    return Selection(
        tuple(chosen.values()),
        len(candidates & chosen.keys()),
        len(candidates),
        tuple(path for path, places in nearest.items() if not places),
    )


class _Includers:
    """Graph from a file to the files that include it."""

    def __init__(self, includes: Mapping[str, tuple[str, ...]]) -> None:
        self._by_name: dict[str, list[tuple[str, str]]] = {}
        for includer, names in includes.items():
            for name in names:
                parts = [part for part in name.split("/") if part not in {"", ".", ".."}]
                if parts:
                    self._by_name.setdefault(parts[-1], []).append((includer, "/".join(parts)))

    def of(self, path: str) -> Iterator[str]:
        """Yield the files that include a file, the nearest first; among equally near ones, its namesake."""
        stem = _stem(path)
        seen, level, steps = {path}, [path], 0
        while level and steps < _MOST_STEPS:
            found: list[str] = []
            for place in level:
                for includer, name in self._by_name.get(posixpath.basename(place), ()):
                    steps += 1
                    if includer not in seen and f"/{place}".endswith(f"/{name}"):
                        seen.add(includer)
                        found.append(includer)
            level = sorted(found, key=lambda place: (_stem(place) != stem, place))
            yield from level


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def _in_turn(lists: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the first of each list, then the second of each, and so on."""
    for places in zip_longest(*lists):
        yield from (place for place in places if place is not None)
