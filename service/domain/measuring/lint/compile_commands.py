"""Read the translation units from ``compile_commands.json``."""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from service.domain.measuring.lint.diagnostics import Roots
from service.domain.values.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE: Final = "compile_commands.json"
MAX_BYTES: Final = 64 << 20  # twenty thousand units with long commands
_MOST_VALUES: Final = 4_000_000  # 300 MiB when decoded


@dataclass(frozen=True, slots=True)
class Unit:
    """A translation unit.

    Args:
        file: absolute path, as in the command.
        directory: where the command runs; relative paths in messages begin there.
        path: path relative to the sources; empty if it is outside.
    """

    file: str
    directory: str
    path: str


def read_compile_commands(data: bytes, sources: str = "") -> tuple[Unit, ...]:
    """Read the units, each file once.

    Args:
        data: the content of the file, which a build wrote.
        sources: the directory of the sources on the host; in a sandbox they are in ``/src``.

    Raises:
        BadResults: it is damaged, too large, or names no unit.
    """
    units: dict[str, Unit] = {}
    for entry in _entries(data):
        match entry:
            case {"directory": str(directory), "file": str(file)} if "\0" not in file:
                place = posixpath.normpath(posixpath.join(directory, file))
                units.setdefault(place, Unit(place, directory, Roots(sources).below(place)))
    if not units:
        raise BadResults("it names no file to compile")
    return tuple(units.values())


def _entries(data: bytes) -> Iterator[Any]:
    if len(data) > MAX_BYTES or sum(data.count(mark) for mark in (b",", b"{", b"[")) > _MOST_VALUES:
        raise BadResults("it is too large")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise BadResults("it is not JSON") from None
    if not isinstance(document, list):
        raise BadResults("it is not a list")
    yield from document
